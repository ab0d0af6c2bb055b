// Generates attention as one kernel for warpgroups of sm_90a: scores of a tile of keys, their
// softmax, and its product with the values, one tile of keys after the other.
//
// A block computes 64 rows of the result with each of its warpgroups; the rows' queries stay in
// shared memory. Tiles of keys and of values pass through a ring of stages in the order of their
// use: keys 0, keys 1, values 0, keys 2, values 1, and so on. While the tensor cores multiply the
// values of one tile, threads compute the softmax of the next one's scores. A row's sums are
// multiplied by exp(old maximum - new maximum) whenever a tile has a greater score. bulk_tile.cc
// describes tiles, stages and barriers; streamed_source.cc recognizes attention.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::Nest;
using Kind = ScalarExpr::Kind;

namespace {

// Prints the computation of a thread's scores from the products, score[i][j]. Masks are loaded in
// pairs where memory allows it.
class ScorePrinter {
 public:
  ScorePrinter(const KernelContext& context, const Nest& nest, const StreamedSource& source)
      : reads_(PairedReads(nest, source)),
        printer_(nest, OptionsFor(context, nest, source.score_slot, !reads_.empty())),
        row_(static_cast<int>(source.batch.size())) {
    std::vector<int> batches(static_cast<size_t>(row_));
    std::iota(batches.begin(), batches.end(), 0);
    const int column = row_ + 1;
    printer_.Open(batches, true);
    printer_.Open({row_}, true);
    if (reads_.empty()) printer_.Open({column}, true);
    printer_.Open({}, false);
    if (!reads_.empty()) {
      printer_.SetPacked(reads_, column, 2, "u");
      printer_.Open({column}, true);
    }
    const std::string value = printer_.Value(nest.root);
    printer_.Add(absl::StrCat("score[i][j", reads_.empty() ? "" : " + u", "] = ", value, ";\n"));
    if (!reads_.empty()) element_ = printer_.Close();
    inside_ = printer_.Close();
    if (reads_.empty()) at_column_ = printer_.Close();
    at_row_ = printer_.Close();
    at_kernel_ = printer_.Close();
  }

  const std::string& before() const { return at_kernel_; }
  // Computes the scores of the keys from `first_key` on. Those of keys that do not exist are -inf;
  // rows that do not exist repeat the last one.
  std::string Code(const StreamTile& tile, int64_t rows, int64_t keys, const char* type) const {
    const std::string r = printer_.VarName(row_), c = printer_.VarName(row_ + 1);
    const bool pairs = !reads_.empty();
    const std::string place = pairs ? c + "_start" : c;
    const std::string check = CheckText({{place, keys, tile.keys}});
    const std::string inside =
        !pairs ? inside_
               : absl::StrCat(inside_, "#pragma unroll\nfor (int u = 0; u < 2; ++u) {\nconst ",
                              type, " ", c, " = ", place, " + u;\n", element_, "}\n");
    const char* const none =
        pairs ? "score[i][j] = score[i][j + 1] = -Infinity();\n" : "score[i][j] = -Infinity();\n";
    return absl::StrCat("#pragma unroll\nfor (int i = 0; i < 2; ++i) {\nconst ", type, " ", r,
                        " = Least<", type, ">(a_first + warp_row + i * 8 + group, ", rows - 1,
                        ");\n", at_row_, "#pragma unroll\nfor (int j = 0; j < ", tile.keys / 4,
                        "; j += ", pairs ? 2 : 1, ") {\nconst ", type, " ", place,
                        " = first_key + j / 2 * 8 + lane * 2", pairs ? "" : " + j % 2", ";\n",
                        at_column_, check, "{\n", inside, "}",
                        check.empty() ? "" : absl::StrCat(" else {\n", none, "}"), "\n}\n}\n");
  }
  NestPrinter& printer() { return printer_; }

 private:
  // The reads of `nest`, if all of them can load two adjacent keys at once.
  static std::vector<int> PairedReads(const Nest& nest, const StreamedSource& source) {
    const int column = static_cast<int>(source.batch.size()) + 1;
    std::vector<int> reads;
    if (Size(source.keys) % 2 != 0) return reads;
    for (size_t n = 0; n < nest.nodes.size(); ++n) {
      const loops::Node& node = nest.nodes[n];
      if (node.kind == Kind::kSelect) return {};  // the other branch may lie outside its tensor
      if (node.kind != Kind::kRead || node.slot == source.score_slot) continue;
      if (!node.checks.empty() || !Packs(nest, node.index, column, 2)) return {};
      reads.push_back(static_cast<int>(n));
    }
    return reads;
  }

  static NestPrinter::Options OptionsFor(const KernelContext& context, const Nest& nest,
                                         int score_slot, bool pairs) {
    NestPrinter::Options options = TileOptions(context, nest, "s");
    options.value_slot = score_slot;
    const char* const at = pairs ? "score[i][j + u]" : "score[i][j]";
    // ptxas does not leave products in flight if a conversion reads their sums. A sum is never -0.
    const bool converted =
        std::any_of(nest.nodes.begin(), nest.nodes.end(), [&](const loops::Node& node) {
          return node.kind == Kind::kApply && IsStored(node.fn) &&
                 nest.nodes[node.args[0]].slot == score_slot;
        });
    options.value = converted ? absl::StrCat("(", at, " + 0.0f)") : at;
    return options;
  }

  std::vector<int> reads_;  // that load pairs; empty: none does
  NestPrinter printer_;
  int row_;
  std::string element_, inside_, at_column_, at_row_, at_kernel_;
};

// The three factors, as the copy engine moves them.
struct StreamedFactors {
  BulkFactor query, key, value;
};

std::optional<StreamedFactors> MatchFactors(const KernelContext& context,
                                            const StreamedSource& source, int* fresh) {
  if (context.number != Number::kFloat || context.precision == ProductPrecision::kF32 ||
      context.architecture != kWarpgroupArchitecture) {
    return std::nullopt;
  }
  const int nb = static_cast<int>(source.batch.size());
  const auto match = [&](const ScalarExpr& factor, const std::vector<Axis>& rows,
                         const std::vector<Axis>& depth) {
    const Nest nest = LowerMerged(context, factor, 0, {}, source.batch, rows, depth, fresh);
    return MatchBulkFactor(context, nest, nb, Size(rows), Size(depth));
  };
  auto query = match(source.query, source.m, source.depth);
  auto key = match(source.key, source.keys, source.depth);
  auto value = match(source.value, source.n, source.keys);
  if (!query || !key || !value || query->dtype != key->dtype || query->dtype != value->dtype) {
    return std::nullopt;
  }
  // The softmax becomes a factor of their type.
  const DType dtype = query->dtype;
  const ProductPrecision same =
      dtype == DType::kF16 ? ProductPrecision::kF16 : ProductPrecision::kBf16;
  const bool rounds = source.rounded ? *source.rounded == dtype : context.precision == same;
  if (!rounds) return std::nullopt;
  return StreamedFactors{*std::move(query), *std::move(key), *std::move(value)};
}

// Copies of all tiles of a factor that begin at a depth of `first`, `depth` numbers deep.
std::string CopiesText(const char* name, BulkFactor* factor, int batch, int64_t tile_rows,
                       const std::string& place, const std::string& first, int64_t depth,
                       const std::string& barrier) {
  const std::string at = absl::StrCat(place, " + part * ", tile_rows * kLineBytes);
  return absl::StrCat("for (int part = 0; part < ", CeilDivide(depth, kBulkDepth),
                      "; ++part) {\nconst int depth = ", first, " + part * ", kBulkDepth, ";\n",
                      BulkCopyText(name, factor, batch, tile_rows, at, barrier), "}\n");
}

// The descriptor of a factor's numbers at depth k; its tiles, of kBulkDepth numbers each, begin at
// `first`.
std::string DescriptorText(const BulkFactor& factor, const std::string& first, int64_t tile_rows) {
  return absl::StrCat("TileDescriptor(", first, " + k / ", kBulkDepth, " * ",
                      tile_rows * kLineBytes, " + k % ", kBulkDepth, " * ", factor.DepthBytes(),
                      ", ", factor.rows_adjacent ? "true" : "false", ")");
}

}  // namespace

std::optional<GridKernel> KernelByStream(const KernelContext& context, const StreamedSource& source,
                                         const GridOptions& options, int* fresh) {
  std::optional<StreamedFactors> factors = MatchFactors(context, source, fresh);
  if (!factors) return std::nullopt;
  const Nest scores =
      LowerMerged(context, source.score, 0, {}, source.batch, source.m, source.keys, fresh);
  StreamSize size{Size(source.batch), Size(source.m), Size(source.keys), Size(source.depth),
                  Size(source.n)};
  size.masked = std::any_of(scores.nodes.begin(), scores.nodes.end(), [&](const loops::Node& node) {
    return node.kind == Kind::kRead && node.slot != source.score_slot;
  });
  std::optional<StreamTile> tile = ChooseStreamTile(size);
  if (!tile) return std::nullopt;
  const auto use = [&](const std::optional<StreamTile>& wanted) {
    for (const StreamTile& other : StreamTiles(size)) {
      if (!wanted || other.rows != wanted->rows || other.keys != wanted->keys) continue;
      tile = other;
      return true;
    }
    return false;
  };
  if (!use(options.stream) && options.tiles) use(options.tiles->Find(size));
  const int nb = static_cast<int>(source.batch.size());
  TiledSource tiled{source.source, {}, source.sum_slot};
  tiled.contraction.batch = source.batch;
  const Nest out = LowerMerged(context, source.source.body, source.source.slot, source.source.out,
                               source.batch, source.m, source.n, fresh);
  BulkResult result(context, out, tiled, size.m, size.n);
  ScorePrinter score(context, scores, source);

  TileShape shape{tile->rows, tile->columns, 0, 16, tile->columns, true};
  const int64_t depth_parts = CeilDivide(size.depth, kBulkDepth),
                key_parts = tile->keys / kBulkDepth;
  const int64_t query_bytes = depth_parts * tile->rows * kLineBytes;
  const int64_t key_bytes = depth_parts * tile->keys * kLineBytes;
  const int64_t value_bytes = key_parts * tile->columns * kLineBytes;
  const int64_t stage_bytes = std::max(key_bytes, value_bytes);
  const int64_t tiles_bytes =
      std::max(query_bytes + tile->stages * stage_bytes, result.SharedBytes(shape));
  const int64_t shared_bytes = tiles_bytes + (2 * tile->stages + 1) * kBarrierBytes;
  const int64_t tiles_m = CeilDivide(size.m, tile->rows);
  const int64_t steps = CeilDivide(size.keys, tile->keys);
  const int warpgroups = tile->rows / static_cast<int>(kGroupRows);
  const bool several = warpgroups > 1;
  const int threads = warpgroups * 128 + (several ? 128 : 32);
  const char* type =
      IndexTypeFor(std::max(size.m, size.keys), {&result.printer(), &score.printer()});
  const std::string stage = absl::StrCat("shared + ", query_bytes, " + stage * ", stage_bytes);
  const char* const flags[] = {"false", "true"};
  const auto truth = [&](bool value) { return flags[value ? 1 : 0]; };
  const std::string softmax =
      absl::StrCat("TakeSums(score);\n", score.Code(*tile, size.m, size.keys, type),
                   "TakeScores(score, rows);\n");
  const std::string body = absl::StrReplaceAll(
      R"(LEMMA_BULK_SHARED(shared, SHARED_BYTES);
BulkBarrier* const full = reinterpret_cast<BulkBarrier*>(shared + TILES_BYTES);
BulkBarrier* const empty = full + STAGES;
BulkBarrier* const queries = empty + STAGES;
const TYPE batch = blockIdx.x / TILES_M;
const TYPE a_first = static_cast<TYPE>(blockIdx.x % TILES_M) * ROWS;
const TYPE b_first = 0;
const int warpgroup = threadIdx.x / 128;
if (threadIdx.x == 0) {
for (int stage = 0; stage < STAGES; ++stage) {
InitBarrier(&full[stage], 1);
InitBarrier(&empty[stage], WARPGROUPS);
}
InitBarrier(queries, 1);
PublishBarriers();
}
__syncthreads();
if (warpgroup == WARPGROUPS) {
GIVE_REGISTERSif (threadIdx.x % 128 > 0) return;
COORDINATESArriveExpecting(queries, QUERY_BYTES);
COPY_QUERIESfor (int step = 0; step < 2 * STEPS; ++step) {
const int stage = step % STAGES;
if (step >= STAGES) WaitFor(&empty[stage], (step / STAGES - 1) % 2);
const bool last = step == 2 * STEPS - 1;
if (last || (step > 0 && step % 2 == 0)) {
ArriveExpecting(&full[stage], VALUE_BYTES);
COPY_VALUES} else {
const int key_first = (step + 1) / 2 * KEYS;
ArriveExpecting(&full[stage], KEY_BYTES);
COPY_KEYS}
}
return;
}
TAKE_REGISTERSfloat score[2][SCORES], sum[2][SUMS];
unsigned int words[SCORES / 4][4];
StreamedRow rows[2];
#pragma unroll
for (int i = 0; i < 2; ++i) {
#pragma unroll
for (int j = 0; j < SCORES; ++j) score[i][j] = 0;
#pragma unroll
for (int j = 0; j < SUMS; ++j) sum[i][j] = 0;
}
const int warp_row = threadIdx.x / 32 * 16, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
const bool first_of_warpgroup = threadIdx.x % 128 == 0;
const unsigned char* const query_tile = shared + warpgroup * GROUP_BYTES;
SCORE_DIGITSBEFORE_SCORESint first_key = 0;
FIRST_TURNWaitFor(queries, 0);
{
const int stage = 0;
WaitFor(&full[stage], 0);
MULTIPLY_KEYSWaitForProducts<0>();
if (first_of_warpgroup) Arrive(&empty[stage]);
}
SOFTMAXPackScores<WORDS>(score, words);
for (int tile = 0; tile < STEPS - 1; ++tile) {
const int key_step = 2 * tile + 1, value_step = 2 * tile + 2;
first_key += KEYS;
{
const int stage = key_step % STAGES;
WaitFor(&full[stage], key_step / STAGES % 2);
TAKE_TURNMULTIPLY_KEYS}
{
const int stage = value_step % STAGES;
WaitFor(&full[stage], value_step / STAGES % 2);
MULTIPLY_VALUES}
PASS_TURNWaitForProducts<1>();
if (first_of_warpgroup) Arrive(&empty[key_step % STAGES]);
SOFTMAXWaitForProducts<0>();
if (first_of_warpgroup) Arrive(&empty[value_step % STAGES]);
TakeSums(sum);
ScaleSums(sum, rows);
PackScores<WORDS>(score, words);
}
{
const int step = 2 * STEPS - 1, stage = step % STAGES;
WaitFor(&full[stage], step / STAGES % 2);
MULTIPLY_VALUES}
WaitForProducts<0>();
TakeSums(sum);
DivideSums(sum, rows);
BATCH_DIGITSRESULT)",
      {{"COORDINATES", BulkCoordinates(source.batch)},
       {"COPY_QUERIES",
        CopiesText("a", &factors->query, nb, tile->rows, "shared", "0", size.depth, "queries")},
       {"COPY_KEYS",
        CopiesText("key", &factors->key, nb, tile->keys, stage, "0", size.depth, "&full[stage]")},
       {"COPY_VALUES", CopiesText("b", &factors->value, nb, tile->columns, stage,
                                  absl::StrCat("(last ? STEPS - 1 : step / 2 - 1) * ", tile->keys),
                                  tile->keys, "&full[stage]")},
       {"MULTIPLY_KEYS",
        absl::StrCat("const unsigned char* const key_tile = ", stage,
                     ";\nBeginProducts();\n#pragma unroll\nfor (int k = 0; k < ",
                     CeilDivide(size.depth, 16) * 16, "; k += 16) {\nconst uint64 a = ",
                     DescriptorText(factors->query, "query_tile", tile->rows),
                     ";\nconst uint64 b = ", DescriptorText(factors->key, "key_tile", tile->keys),
                     ";\n", "if (k == 0) {\nMultiplyAddTiles<WORDS, ", tile->keys / 8, ", ",
                     truth(factors->query.rows_adjacent), ", ", truth(factors->key.rows_adjacent),
                     ", false>(score, a, b);\n} else {\nMultiplyAddTiles<WORDS, ", tile->keys / 8,
                     ", ", truth(factors->query.rows_adjacent), ", ",
                     truth(factors->key.rows_adjacent),
                     ">(score, a, b);\n}\n}\nCommitProducts();\n")},
       {"MULTIPLY_VALUES",
        absl::StrCat("const unsigned char* const value_tile = ", stage,
                     ";\nBeginProducts();\n#pragma unroll\nfor (int k = 0; k < ", tile->keys,
                     "; k += 16) {\nMultiplyAddWords<WORDS, ", tile->columns / 8, ", ",
                     truth(factors->value.rows_adjacent), ">(sum, words[k / 16], ",
                     DescriptorText(factors->value, "value_tile", tile->columns),
                     ");\n}\nCommitProducts();\n")},
       // One warpgroup computes a softmax while the other multiplies. The last turn is not
       // taken: a branch here would keep the compiler from leaving products in flight.
       {"FIRST_TURN",
        several ? absl::StrCat("if (warpgroup == ", warpgroups - 1, " && STEPS > 1) PassTurn(0);\n")
                : ""},
       {"TAKE_TURN", several ? "TakeTurn(warpgroup);\n" : ""},
       {"PASS_TURN",
        several ? absl::StrCat("PassTurn((warpgroup + 1) % ", warpgroups, ");\n") : ""},
       {"GIVE_REGISTERS", several ? GiveRegistersText(warpgroups) : ""},
       {"TAKE_REGISTERS", several ? TakeRegistersText(warpgroups) : ""},
       {"SOFTMAX", softmax},
       {"SCORE_DIGITS", BatchDigits(score.printer(), source.batch)},
       {"BEFORE_SCORES", score.before()},
       {"BATCH_DIGITS", BatchDigits(result.printer(), source.batch)},
       {"RESULT", result.Code(shape, size.m, size.n, type)}});
  const std::string text = absl::StrReplaceAll(
      body, {{"SHARED_BYTES", absl::StrCat(shared_bytes)},
             {"TILES_BYTES", absl::StrCat(tiles_bytes)},
             {"QUERY_BYTES", absl::StrCat(query_bytes)},
             {"KEY_BYTES", absl::StrCat(key_bytes)},
             {"VALUE_BYTES", absl::StrCat(value_bytes)},
             {"GROUP_BYTES", absl::StrCat(kGroupRows * kLineBytes)},
             {"STAGES", absl::StrCat(tile->stages)},
             {"STEPS", absl::StrCat(steps)},
             {"SCORES", absl::StrCat(tile->keys / 4)},
             {"SUMS", absl::StrCat(tile->columns / 4)},
             {"KEYS", absl::StrCat(tile->keys)},
             {"WARPGROUPS", absl::StrCat(warpgroups)},
             {"WORDS", factors->query.dtype == DType::kF16 ? "WordsF16" : "WordsBf16"},
             {"TILES_M", absl::StrCat(tiles_m)},
             {"ROWS", absl::StrCat(tile->rows)},
             {"TYPE", type}});
  std::vector<int> reads = result.printer().slots();
  for (int slot : score.printer().slots()) reads.push_back(slot);
  for (const BulkFactor* factor : {&factors->query, &factors->key, &factors->value}) {
    reads.push_back(factor->source.slot);
  }
  const bool checks = result.printer().checks() || score.printer().checks();
  GridKernel kernel =
      Finish(context, std::move(reads), out.out_slot, checks, tiles_m * size.batch, threads, true,
             absl::StrCat("streamed by ", tile->rows, "x", tile->keys, "x", tile->columns, " in ",
                          Name(factors->query.dtype)),
             text,
             {{"map_a", factors->query.source},
              {"map_key", factors->key.source},
              {"map_b", factors->value.source}});
  if (several) LimitToOneBlock(&kernel);
  kernel.shared_bytes = static_cast<int>(shared_bytes);
  kernel.streamed = size;
  return kernel;
}

}  // namespace lemma::codegen
