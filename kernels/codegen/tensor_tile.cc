// Generates sums of products by tile for tensor cores, by the instruction mma.sync.
//
// Shared memory holds the factors' tiles in words of 32 bits: TF32 numbers, f32 numbers to be split
// into two of them, pairs of 16-bit numbers at depths 2w and 2w + 1, or four bytes at depths 4w to
// 4w + 3. A warp multiplies 8 words of depth at a time: 16 rows by 8 columns in each instruction.
// Lane l holds: of A, words l % 4 and l % 4 + 4 of rows l / 4 and l / 4 + 8; of B, the same words
// of column l / 4; of the result, columns 2 (l % 4) and 2 (l % 4) + 1 of the same rows as of A.
// (PTX ISA, "Matrix Fragments for mma.m16n8k8, m16n8k16, m16n8k32".)
//
// factors/byte_product.h says how zero points of bytes are subtracted.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/codegen/factors/byte_product.h"
#include "kernels/codegen/factors/word_loader.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

int NumbersPerWord(ProductPrecision precision) {
  if (precision == ProductPrecision::kBytes) return 4;
  return precision == ProductPrecision::kF16 || precision == ProductPrecision::kBf16 ? 2 : 1;
}

// The prelude's type that makes words of real numbers and multiplies them.
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

WordFormat FormatFor(const KernelContext& context, const Nest& factor) {
  const loops::Node& root = factor.nodes[factor.root];
  const bool join = context.precision == ProductPrecision::kBf16 &&
                    root.kind == ScalarExpr::Kind::kRead &&
                    context.storage[root.slot] == DType::kBF16;
  return {NumbersPerWord(context.precision),
          absl::StrCat(WordsName(context.precision), join ? "::Join" : "::Make"), "float"};
}

std::string WordsName(const ByteProduct& product) {
  const auto name = [](const ByteFactor& f) { return f.dtype == DType::kU8 ? "U8" : "I8"; };
  return absl::StrCat("Words", name(product.a), name(product.b));
}

// `contraction`, for which the precision kBytes was chosen because it is a product of bytes.
ByteProduct ChosenByteProduct(const KernelContext& context,
                              const loops::ContractionSource& contraction) {
  std::optional<ByteProduct> product = ByteProductOf(context, contraction);
  if (!product) {
    std::fprintf(stderr, "tile for tensor cores: no product of bytes\n");
    std::abort();
  }
  return *std::move(product);
}

// `side`: 'A' or 'B'.
WordFormat FormatFor(const ByteProduct& product, char side) {
  constexpr int kNumbers = 4;
  const std::string make = absl::StrCat(WordsName(product), "::Make", std::string(1, side));
  return {kNumbers, make, "int", kNumbers};
}

}  // namespace

GridKernel KernelByTensorTile(const KernelContext& context, const TiledSource& tiled,
                              const TileShape& tile, int* fresh) {
  const loops::ContractionSource& c = tiled.contraction;
  const int64_t batch = Size(c.batch), m = Size(c.m), n = Size(c.n), k = Size(c.k);
  const int nb = static_cast<int>(c.batch.size());
  const int threads = tile.threads();
  const int fragments_m = tile.thread_rows / 16, fragments_n = tile.thread_columns / 8;
  std::optional<ByteProduct> bytes;
  if (context.precision == ProductPrecision::kBytes) bytes = ChosenByteProduct(context, c);
  const std::string words = bytes ? WordsName(*bytes) : WordsName(context.precision);
  KernelContext factors = context;
  if (bytes) factors.number = Number::kInteger;
  const Nest a =
      LowerMerged(context, bytes ? bytes->a.bytes : c.a, 0, {}, c.batch, c.m, c.k, fresh);
  const Nest b =
      LowerMerged(context, bytes ? bytes->b.bytes : c.b, 0, {}, c.batch, c.n, c.k, fresh);
  const Nest out = LowerMerged(context, tiled.source.body, tiled.source.slot, tiled.source.out,
                               c.batch, c.m, c.n, fresh);
  WordLoader load_a(factors, a, nb, {"a", tile.rows, m, tile.depth, k, threads},
                    bytes ? FormatFor(*bytes, 'A') : FormatFor(context, a));
  WordLoader load_b(factors, b, nb, {"b", tile.columns, n, tile.depth, k, threads},
                    bytes ? FormatFor(*bytes, 'B') : FormatFor(context, b));
  std::optional<ZeroPoints> zeros;
  if (bytes) zeros.emplace(factors, *bytes, words, k, fragments_m, fragments_n, fresh);
  ResultPrinter result(
      context, out, tiled.sum_slot, c.batch,
      zeros ? absl::StrCat(TypeName(context.number), "(", zeros->Sum(), ")") : "sum[i][j]");

  const char* type = IndexTypeFor(std::max({m, n, k}), {&result.printer()});
  const int64_t tiles_m = CeilDivide(m, tile.rows), tiles_n = CeilDivide(n, tile.columns);
  const int across = tile.columns / tile.thread_columns;  // warps along a row of the tile
  const int64_t shared_words = load_a.SharedWords() + load_b.SharedWords();
  const std::string body = absl::StrReplaceAll(
      R"(LEMMA_SHARED(shared_words, SHARED_WORDS);
DECLARE_ADECLARE_Bconst TYPE batch = blockIdx.x / (TILES_M * TILES_N);
const TYPE a_first = static_cast<TYPE>(blockIdx.x / TILES_N % TILES_M) * ROWS;
const TYPE b_first = static_cast<TYPE>(blockIdx.x % TILES_N) * COLUMNS;
const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
const int warp_row = warp / ACROSS * WARP_ROWS, warp_column = warp % ACROSS * WARP_COLUMNS;
BATCH_DIGITSBEFORE_ABEFORE_BNUMBER sum[2 * FRAGMENTS_M][2 * FRAGMENTS_N];
#pragma unroll
for (int i = 0; i < 2 * FRAGMENTS_M; ++i) {
#pragma unroll
for (int j = 0; j < 2 * FRAGMENTS_N; ++j) sum[i][j] = 0;
}
ZERO_POINTS// Loads the tiles of a step while it computes with those of the step before.
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
ADD_BYTES#pragma unroll
for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
for (int j = 0; j < FRAGMENTS_N; ++j) {
FORMAT::MultiplyAdd(&sum[2 * i][2 * j], &sum[2 * i + 1][2 * j], left[i], right[j]);
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
       {"FORMAT", words},
       {"NUMBER", bytes ? "int" : "float"},
       {"ZERO_POINTS", zeros ? zeros->Declarations() : ""},
       {"ADD_BYTES", zeros ? zeros->Accumulation() : ""},
       {"TYPE", type}});
  std::vector<int> reads = load_a.printer().slots();
  for (int slot : load_b.printer().slots()) reads.push_back(slot);
  for (int slot : result.printer().slots()) reads.push_back(slot);
  if (zeros) reads.insert(reads.end(), zeros->slots().begin(), zeros->slots().end());
  const bool checks =
      load_a.printer().checks() || load_b.printer().checks() || result.printer().checks();
  GridKernel kernel = Finish(
      context, std::move(reads), out.out_slot, checks, tiles_m * tiles_n * batch, threads, true,
      absl::StrCat("by tile ", tile.ToString(), " in ", Name(context.precision)), body);
  kernel.shared_bytes = static_cast<int>(shared_words) * 4;
  return kernel;
}

}  // namespace lemma::codegen
