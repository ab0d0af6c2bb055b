// Generates sums of products by tile for tensor cores, by the instruction mma.sync.
//
// Shared memory holds the factors' tiles in words of 32 bits: TF32 numbers, f32 numbers to be split
// into two of them, or pairs of 16-bit numbers at depths 2w and 2w + 1. A warp multiplies 8 words
// of depth at a time: 16 rows by 8 columns in each instruction. Lane l holds: of A, words
// l % 4 and l % 4 + 4 of rows l / 4 and l / 4 + 8; of B, the same words of column l / 4; of the
// result, columns 2 (l % 4) and 2 (l % 4) + 1 of the same rows as of A.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

int NumbersPerWord(ProductPrecision precision) {
  return precision == ProductPrecision::kF16 || precision == ProductPrecision::kBf16 ? 2 : 1;
}

// The prelude's type that makes words and multiplies them.
const char* WordsName(ProductPrecision precision) {
  switch (precision) {
    case ProductPrecision::kF32x3:
      return "WordsF32x3";
    case ProductPrecision::kF16:
      return "WordsF16";
    case ProductPrecision::kBf16:
      return "WordsBf16";
    default:
      return "WordsTf32";
  }
}

// A factor and its tile.
struct FactorTile {
  const char* name;  // "a", "b"
  int64_t rows, total_rows;
  int64_t words, total_depth;
  int64_t threads;
};

// Prints the code that moves one factor into shared memory. A thread moves units: numbers that are
// adjacent in memory, if four of them can be one access, and enough rows or depth to fill words.
class WordLoader {
 public:
  WordLoader(const KernelContext& context, const Nest& nest, int batch, const FactorTile& tile)
      : printer_(nest, TileOptions(context, nest, tile.name)), tile_(tile) {
    const int row = batch, deep = batch + 1;
    numbers_ = NumbersPerWord(context.precision);
    const loops::Node& root = nest.nodes[nest.root];
    const bool join = context.precision == ProductPrecision::kBf16 &&
                      root.kind == ScalarExpr::Kind::kRead &&
                      context.storage[root.slot] == DType::kBF16;
    make_ = absl::StrCat(WordsName(context.precision), join ? "::Join" : "::Make");
    along_depth_ = PrefersSecond(nest, row, deep);
    std::vector<int> packed;
    const int pack = ChoosePack(context, nest, along_depth_ ? deep : row,
                                along_depth_ ? tile.total_depth : tile.total_rows, &packed);
    unit_rows_ = along_depth_ ? 1 : pack;
    unit_depth_ = along_depth_ ? std::max(pack, numbers_) : numbers_;
    row_name_ = printer_.VarName(row);
    depth_name_ = printer_.VarName(deep);
    std::vector<int> kernel_vars;
    for (int i = 0; i < batch; ++i) kernel_vars.push_back(i);
    if (pack > 1) {
      printer_.SetPacked(packed, along_depth_ ? deep : row, pack, along_depth_ ? "v" : "r");
    }
    // Scopes: the kernel; a unit; its rows or depths that are not packed; those inside the factor;
    // one number.
    const bool row_fixed = !along_depth_ && pack == 1;
    if (row_fixed) kernel_vars.push_back(row);
    printer_.Open(kernel_vars, true);
    printer_.Open(along_depth_ ? std::vector<int>{row} : std::vector<int>{}, true);
    printer_.Open(along_depth_ && pack > 1 ? std::vector<int>{} : std::vector<int>{deep}, true);
    printer_.Open({}, false);
    printer_.Open(pack == 1 ? std::vector<int>{} : std::vector<int>{along_depth_ ? deep : row},
                  true);
    const std::string value = printer_.Value(nest.root);
    const std::string number = printer_.Close(), inside = printer_.Close(),
                      single = printer_.Close(), unit = printer_.Close(), kernel = printer_.Close();
    Write(pack, value, number, inside, single, unit, kernel);
  }

  // Words of shared memory for two stages, and the declaration of the tile from word `first` on.
  int64_t SharedWords() const { return 2 * Lines() * LineWords(); }
  std::string Declaration(int64_t first) const {
    return absl::StrCat("unsigned int (*const ", tile_.name, "_tile)[", Lines(), "][", LineWords(),
                        "] = reinterpret_cast<unsigned int (*)[", Lines(), "][", LineWords(),
                        "]>(shared_words + ", first, ");\n");
  }
  // Follows the declaration of the batch's variables and NAME_first.
  const std::string& before() const { return before_; }
  // From memory to registers, and then to shared memory.
  const std::string& load() const { return load_; }
  const std::string& store() const { return store_; }
  // The word at a row and a word of depth.
  std::string At(const std::string& row, const std::string& word) const {
    return along_depth_ ? absl::StrCat(tile_.name, "_tile[stage][", row, "][", word, "]")
                        : absl::StrCat(tile_.name, "_tile[stage][", word, "][", row, "]");
  }
  NestPrinter& printer() { return printer_; }

 private:
  // The numbers in 16 bytes, if every read moves along `var` in memory, in such packs, and none
  // needs a check; else 1.
  static int ChoosePack(const KernelContext& context, const Nest& nest, int var, int64_t total,
                        std::vector<int>* reads) {
    int pack = 8;
    for (const loops::Node& node : nest.nodes) {
      if (node.kind != ScalarExpr::Kind::kRead) continue;
      pack = std::min(pack, static_cast<int>(16 / SizeOf(context.storage[node.slot])));
    }
    if (pack < 4 || total % pack != 0) return 1;
    for (size_t n = 0; n < nest.nodes.size(); ++n) {
      const loops::Node& node = nest.nodes[n];
      if (node.kind == ScalarExpr::Kind::kSelect || node.kind == ScalarExpr::Kind::kReduce) {
        return 1;
      }
      if (node.kind != ScalarExpr::Kind::kRead) continue;
      if (!node.checks.empty() || !Packs(nest, node.index, var, pack)) return 1;
      reads->push_back(static_cast<int>(n));
    }
    return reads->empty() ? 1 : pack;
  }

  // A line of the tile is a row, or a word of depth; its words are padded, so that the lanes of a
  // warp read different banks.
  int64_t Lines() const { return along_depth_ ? tile_.rows : tile_.words; }
  int64_t LineWords() const { return along_depth_ ? tile_.words + 4 : tile_.rows + 8; }

  void Write(int pack, const std::string& value, const std::string& number,
             const std::string& inside, const std::string& single, const std::string& unit,
             const std::string& kernel) {
    const std::string n = tile_.name, type = printer_.index_type();
    const int64_t depth = tile_.words * numbers_;
    // Units side by side in the fast direction, and of the whole tile.
    const int64_t fast = along_depth_ ? depth / unit_depth_ : tile_.rows / unit_rows_;
    const int64_t units = tile_.rows * depth / (unit_rows_ * unit_depth_);
    const int64_t rounds = CeilDivide(units, tile_.threads);
    const std::string thread = "static_cast<int>(threadIdx.x)";
    const std::string fast_at = absl::StrCat(thread, " % ", fast);
    const std::string slow_at = absl::StrCat("(", thread, " + u * ", tile_.threads, ") / ", fast);
    // NAME_row and NAME_depth: the unit's first row and depth within the tile.
    const std::string row_at = absl::StrCat(
        "const int ", n, "_row = (", along_depth_ ? slow_at : fast_at, ") * ", unit_rows_, ";\n");
    const std::string depth_at =
        absl::StrCat("const int ", n, "_depth = (", along_depth_ ? fast_at : slow_at, ") * ",
                     unit_depth_, ";\n");
    auto declare = [&](const std::string& name, const std::string& at) {
      return absl::StrCat("const ", type, " ", name, " = ", at, ";\n");
    };
    const std::string row_value = absl::StrCat(n, "_first + ", n, "_row");
    const std::string depth_value = absl::StrCat("depth + ", n, "_depth");
    const std::string unroll = "#pragma unroll\n";
    const int numbers = unit_rows_ * unit_depth_;
    before_ = absl::StrCat("float ", n, "_next[", rounds, "][", numbers, "];\n");
    const bool packed_row = !along_depth_ && pack > 1, packed_depth = along_depth_ && pack > 1;
    if (!along_depth_) {
      absl::StrAppend(&before_, row_at,
                      declare(packed_row ? row_name_ + "_start" : row_name_, row_value));
    }
    absl::StrAppend(&before_, kernel);
    const std::string in_range =
        units % tile_.threads == 0
            ? ""
            : absl::StrCat("if (", thread, " + u * ", tile_.threads, " < ", units, ") ");
    const std::string rounds_loop =
        absl::StrCat(unroll, "for (int u = 0; u < ", rounds, "; ++u) ", in_range, "{\n");
    const std::string next = absl::StrCat(n, "_next[u]");
    load_ = rounds_loop;
    if (along_depth_) absl::StrAppend(&load_, row_at, declare(row_name_, row_value));
    absl::StrAppend(&load_, depth_at);
    if (packed_depth) absl::StrAppend(&load_, declare(depth_name_ + "_start", depth_value));
    absl::StrAppend(&load_, unit);
    const std::string row_border = packed_row ? row_name_ + "_start" : row_name_;
    const std::string depth_border = packed_depth ? depth_name_ + "_start" : depth_name_;
    const std::string check = CheckText(
        {{row_border, tile_.total_rows, tile_.rows}, {depth_border, tile_.total_depth, depth}});
    if (packed_depth) {
      absl::StrAppend(&load_, single, Zeros(next, 0, numbers, ""), check, "{\n", inside, unroll,
                      "for (int v = 0; v < ", pack, "; ++v) {\n",
                      declare(depth_name_, depth_name_ + "_start + v"), number, next,
                      "[v] = ", value, ";\n}\n}\n}\n");
    } else {
      absl::StrAppend(&load_, unroll, "for (int v = 0; v < ", unit_depth_, "; ++v) {\n",
                      declare(depth_name_, depth_value + " + v"), single);
      if (packed_row) {
        absl::StrAppend(&load_, Zeros(next, pack, pack, "v * "), check, "{\n", inside, unroll,
                        "for (int r = 0; r < ", pack, "; ++r) {\n",
                        declare(row_name_, row_name_ + "_start + r"), number, next, "[v * ", pack,
                        " + r] = ", value, ";\n}\n}\n");
      } else {
        absl::StrAppend(&load_, next, "[v] = 0;\n", check, "{\n", inside, number, next,
                        "[v] = ", value, ";\n}\n");
      }
      absl::StrAppend(&load_, "}\n}\n");
    }
    // A unit's words are adjacent: along the depth, or along the rows. At most four are one access.
    const int adjacent = along_depth_ ? unit_depth_ / numbers_ : unit_rows_;
    const int access = std::min(adjacent, 4), across = along_depth_ ? numbers_ : 1;
    const std::string next_number =
        numbers_ == 1 ? "0" : absl::StrCat(along_depth_ ? 1 : unit_rows_);
    const std::string word = absl::StrCat("(q + w) * ", across);
    const std::string row = along_depth_ ? n + "_row" : n + "_row + q";
    const std::string at = absl::StrCat(n, "_depth / ", numbers_, along_depth_ ? " + q" : "");
    store_ = absl::StrCat(rounds_loop, row_at, depth_at, unroll, "for (int q = 0; q < ", adjacent,
                          "; q += ", access, ") {\nPack<unsigned int, ", access, "> words;\n",
                          unroll, "for (int w = 0; w < ", access, "; ++w) words.at[w] = ", make_,
                          "(", next, "[", word, "], ", next, "[", word, " + ", next_number,
                          "]);\nStorePack<", access, ">(&", At(row, at), ", words);\n}\n}\n");
  }

  static std::string Zeros(const std::string& next, int step, int count, const std::string& at) {
    return absl::StrCat("#pragma unroll\nfor (int z = 0; z < ", count, "; ++z) ", next, "[",
                        at.empty() ? "" : absl::StrCat(at, step, " + "), "z] = 0;\n");
  }

  NestPrinter printer_;
  FactorTile tile_;
  int numbers_ = 1;
  std::string make_;
  bool along_depth_ = false;
  int unit_rows_ = 1, unit_depth_ = 1;
  std::string row_name_, depth_name_, before_, load_, store_;
};

}  // namespace

GridKernel KernelByTensorTile(const KernelContext& context, const TiledSource& tiled,
                              const TileShape& tile, int* fresh) {
  const loops::ContractionSource& c = tiled.contraction;
  const int64_t batch = Size(c.batch), m = Size(c.m), n = Size(c.n), k = Size(c.k);
  const int nb = static_cast<int>(c.batch.size());
  const int threads = tile.threads();
  const Nest a = LowerMerged(context, c.a, 0, {}, c.batch, c.m, c.k, fresh);
  const Nest b = LowerMerged(context, c.b, 0, {}, c.batch, c.n, c.k, fresh);
  const Nest out = LowerMerged(context, tiled.source.body, tiled.source.slot, tiled.source.out,
                               c.batch, c.m, c.n, fresh);
  WordLoader load_a(context, a, nb, {"a", tile.rows, m, tile.depth, k, threads});
  WordLoader load_b(context, b, nb, {"b", tile.columns, n, tile.depth, k, threads});
  ResultPrinter result(context, out, tiled.sum_slot, c.batch);

  const char* type = IndexTypeFor(std::max({m, n, k}), {&result.printer()});
  const int64_t tiles_m = CeilDivide(m, tile.rows), tiles_n = CeilDivide(n, tile.columns);
  const int across = tile.columns / tile.thread_columns;  // warps along a row of the tile
  const int fragments_m = tile.thread_rows / 16, fragments_n = tile.thread_columns / 8;
  const int64_t shared_words = load_a.SharedWords() + load_b.SharedWords();
  const std::string body = absl::StrReplaceAll(
      R"(LEMMA_SHARED(shared_words, SHARED_WORDS);
DECLARE_ADECLARE_Bconst TYPE batch = blockIdx.x / (TILES_M * TILES_N);
const TYPE a_first = static_cast<TYPE>(blockIdx.x / TILES_N % TILES_M) * ROWS;
const TYPE b_first = static_cast<TYPE>(blockIdx.x % TILES_N) * COLUMNS;
const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
const int warp_row = warp / ACROSS * WARP_ROWS, warp_column = warp % ACROSS * WARP_COLUMNS;
BATCH_DIGITSBEFORE_ABEFORE_Bfloat sum[2 * FRAGMENTS_M][2 * FRAGMENTS_N];
#pragma unroll
for (int i = 0; i < 2 * FRAGMENTS_M; ++i) {
#pragma unroll
for (int j = 0; j < 2 * FRAGMENTS_N; ++j) sum[i][j] = 0;
}
// Loads the tiles of a step while it computes with those of the step before.
int stage = 0;
for (TYPE depth = 0;; depth += DEPTH) {
if (depth < TOTAL_DEPTH) {
{
LOAD_A}
{
LOAD_B}
}
if (depth > 0) {
#pragma unroll
for (int word = 0; word < WORDS; word += 8) {
unsigned int left[FRAGMENTS_M][4], right[FRAGMENTS_N][2];
#pragma unroll
for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
for (int r = 0; r < 4; ++r) left[i][r] = AT_A;
}
#pragma unroll
for (int j = 0; j < FRAGMENTS_N; ++j) {
#pragma unroll
for (int r = 0; r < 2; ++r) right[j][r] = AT_B;
}
#pragma unroll
for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
for (int j = 0; j < FRAGMENTS_N; ++j) {
PRECISION::MultiplyAdd(&sum[2 * i][2 * j], &sum[2 * i + 1][2 * j], left[i], right[j]);
}
}
}
}
if (depth >= TOTAL_DEPTH) break;
stage ^= 1;
{
STORE_A}
{
STORE_B}
__syncthreads();
}
RESULT)",
      {{"SHARED_WORDS", absl::StrCat(shared_words)},
       {"DECLARE_A", load_a.Declaration(0)},
       {"DECLARE_B", load_b.Declaration(load_a.SharedWords())},
       {"BATCH_DIGITS",
        absl::StrCat(BatchDigits(load_a.printer(), c.batch), BatchDigits(load_b.printer(), c.batch),
                     BatchDigits(result.printer(), c.batch))},
       {"BEFORE_A", load_a.before()},
       {"BEFORE_B", load_b.before()},
       {"LOAD_A", load_a.load()},
       {"LOAD_B", load_b.load()},
       {"STORE_A", load_a.store()},
       {"STORE_B", load_b.store()},
       {"AT_A", load_a.At("warp_row + i * 16 + r % 2 * 8 + group", "word + lane + r / 2 * 4")},
       {"AT_B", load_b.At("warp_column + j * 8 + group", "word + lane + r * 4")},
       {"RESULT", result.Code(tile, 2 * fragments_m, 2 * fragments_n,
                              "warp_row + i / 2 * 16 + i % 2 * 8 + group",
                              "warp_column + j / 2 * 8 + lane * 2 + j % 2", m, n, type)},
       {"FRAGMENTS_M", absl::StrCat(fragments_m)},
       {"FRAGMENTS_N", absl::StrCat(fragments_n)},
       {"WARP_ROWS", absl::StrCat(tile.thread_rows)},
       {"WARP_COLUMNS", absl::StrCat(tile.thread_columns)},
       {"COLUMNS", absl::StrCat(tile.columns)},
       {"ROWS", absl::StrCat(tile.rows)},
       {"TOTAL_DEPTH", absl::StrCat(k)},
       {"DEPTH", absl::StrCat(tile.depth * NumbersPerWord(context.precision))},
       {"WORDS", absl::StrCat(tile.depth)},
       {"ACROSS", absl::StrCat(across)},
       {"TILES_M", absl::StrCat(tiles_m)},
       {"TILES_N", absl::StrCat(tiles_n)},
       {"PRECISION", WordsName(context.precision)},
       {"TYPE", type}});
  std::vector<int> reads = load_a.printer().slots();
  for (int slot : load_b.printer().slots()) reads.push_back(slot);
  for (int slot : result.printer().slots()) reads.push_back(slot);
  const bool checks =
      load_a.printer().checks() || load_b.printer().checks() || result.printer().checks();
  GridKernel kernel = Finish(
      context, std::move(reads), out.out_slot, checks, tiles_m * tiles_n * batch, threads, true,
      absl::StrCat("by tile ", tile.ToString(), " in ", Name(context.precision)), body);
  kernel.shared_bytes = static_cast<int>(shared_words) * 4;
  return kernel;
}

}  // namespace lemma::codegen
