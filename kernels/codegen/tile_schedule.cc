// Generates sums of products by tile: out[batch, m, n] = f(sum(k) a(batch, m, k) * b(batch, n, k)).
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::Nest;

namespace {

// Prints the code that moves one factor into shared memory.
class FactorPrinter {
 public:
  FactorPrinter(const KernelContext& context, const Nest& nest, const char* prefix, int batch,
                int64_t rows, int64_t total_rows, int64_t depth, int64_t total_depth,
                int64_t threads)
      : printer_(nest, TileOptions(context, nest, prefix)), name_(prefix) {
    const int row = batch, deep = batch + 1;
    const bool along_depth = PrefersSecond(nest, row, deep);
    const int64_t width = along_depth ? depth : rows, step = threads / width;
    const int64_t rounds = rows * depth / threads;
    const std::string r = printer_.VarName(row), d = printer_.VarName(deep);
    const std::string type = printer_.index_type();
    std::vector<int> batches(static_cast<size_t>(batch));
    std::iota(batches.begin(), batches.end(), 0);

    // Scopes: the kernel, a step along the depth, one element, and that element if it is inside.
    const std::string fast = absl::StrCat("static_cast<int>(threadIdx.x) % ", width);
    const std::string slow =
        absl::StrCat("static_cast<int>(threadIdx.x) / ", width, " + u * ", step);
    auto row_is = [&](const std::string& at) {
      return absl::StrCat("const int ", name_, "_row = ", at, ";\nconst ", type, " ", r, " = ",
                          name_, "_first + ", name_, "_row;\n");
    };
    auto depth_is = [&](const std::string& at) {
      return absl::StrCat("const int ", name_, "_depth = ", at, ";\nconst ", type, " ", d,
                          " = depth + ", name_, "_depth;\n");
    };
    std::vector<int> fixed = batches;
    if (!along_depth) fixed.push_back(row);
    printer_.Open(fixed, true);
    printer_.Open(along_depth ? std::vector<int>{deep} : std::vector<int>{}, true);
    printer_.Open({along_depth ? row : deep}, true);
    printer_.Open({}, false);
    const std::string value = printer_.Value(nest.root);
    const std::string inside = printer_.Close();
    const std::string element = printer_.Close();
    const std::string at_step = printer_.Close();
    const std::string at_kernel = printer_.Close();
    const std::string number = TypeName(context.number);
    before_ = absl::StrCat(along_depth ? "" : row_is(fast), at_kernel);
    const std::string loop =
        absl::StrCat("#pragma unroll\nfor (int u = 0; u < ", rounds, "; ++u) {\n");
    const std::string fixed_depth = along_depth ? depth_is(fast) : "";
    const std::string moving = along_depth ? row_is(slow) : depth_is(slow);
    declared_ = absl::StrCat(number, " ", name_, "_next[", rounds, "];\n");
    load_ = absl::StrCat(fixed_depth, at_step, loop, moving, element, name_, "_next[u] = 0;\n",
                         CheckText({{r, total_rows, rows}, {d, total_depth, depth}}), "{\n", inside,
                         name_, "_next[u] = ", value, ";\n}\n}\n");
    store_ = absl::StrCat(fixed_depth, loop, moving, name_, "_tile[stage][", name_, "_depth][",
                          name_, "_row] = ", name_, "_next[u];\n}\n");
  }

  // Follows the declaration of the batch's variables and NAME_first.
  std::string before() const { return declared_ + before_; }
  // From memory to registers, and then to shared memory.
  const std::string& load() const { return load_; }
  const std::string& store() const { return store_; }
  NestPrinter& printer() { return printer_; }

 private:
  NestPrinter printer_;
  std::string name_, declared_, before_, load_, store_;
};

}  // namespace

GridKernel KernelByTile(const KernelContext& context, const TiledSource& tiled,
                        const TileShape& tile, int* fresh) {
  const loops::ContractionSource& c = tiled.contraction;
  const int64_t batch = Size(c.batch), m = Size(c.m), n = Size(c.n), k = Size(c.k);
  const int nb = static_cast<int>(c.batch.size());
  const int threads = tile.threads();
  const Nest a = LowerMerged(context, c.a, 0, {}, c.batch, c.m, c.k, fresh);
  const Nest b = LowerMerged(context, c.b, 0, {}, c.batch, c.n, c.k, fresh);
  const Nest out = LowerMerged(context, tiled.source.body, tiled.source.slot, tiled.source.out,
                               c.batch, c.m, c.n, fresh);
  FactorPrinter load_a(context, a, "a", nb, tile.rows, m, tile.depth, k, threads);
  FactorPrinter load_b(context, b, "b", nb, tile.columns, n, tile.depth, k, threads);

  ResultPrinter result(context, out, tiled.sum_slot, c.batch);
  const char* type = IndexTypeFor(std::max({m, n, k}), {&result.printer()});
  const int64_t tiles_m = CeilDivide(m, tile.rows), tiles_n = CeilDivide(n, tile.columns);
  const int across = tile.columns / tile.thread_columns;  // threads along a row of the tile
  // The number of a thread's adjacent columns, so that a read has 16 bytes.
  const int pack = std::min(tile.thread_columns, 4);
  const std::string column_of_j = absl::StrCat("(thread_column * ", pack, " + j / ", pack, " * ",
                                               pack * across, " + j % ", pack, ")");
  const std::string body = absl::StrReplaceAll(
      R"(__shared__ __align__(16) NUMBER a_tile[2][DEPTH][ROWS + 4];
__shared__ __align__(16) NUMBER b_tile[2][DEPTH][COLUMNS + 4];
const TYPE batch = blockIdx.x / (TILES_M * TILES_N);
const TYPE a_first = static_cast<TYPE>(blockIdx.x / TILES_N % TILES_M) * ROWS;
const TYPE b_first = static_cast<TYPE>(blockIdx.x % TILES_N) * COLUMNS;
const int thread_row = threadIdx.x / ACROSS, thread_column = threadIdx.x % ACROSS;
BATCH_DIGITSBEFORE_ABEFORE_BNUMBER sum[THREAD_ROWS][THREAD_COLUMNS];
#pragma unroll
for (int i = 0; i < THREAD_ROWS; ++i) {
#pragma unroll
for (int j = 0; j < THREAD_COLUMNS; ++j) sum[i][j] = 0;
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
for (int d = 0; d < DEPTH; ++d) {
NUMBER left[THREAD_ROWS], right[THREAD_COLUMNS];
#pragma unroll
for (int i = 0; i < THREAD_ROWS; ++i) left[i] = a_tile[stage][d][thread_row * THREAD_ROWS + i];
#pragma unroll
for (int j = 0; j < THREAD_COLUMNS; ++j) right[j] = b_tile[stage][d][COLUMN_OF_J];
#pragma unroll
for (int i = 0; i < THREAD_ROWS; ++i) {
#pragma unroll
for (int j = 0; j < THREAD_COLUMNS; ++j) sum[i][j] = fn_add(sum[i][j], fn_mul(left[i], right[j]));
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
      {{"BATCH_DIGITS",
        absl::StrCat(BatchDigits(load_a.printer(), c.batch), BatchDigits(load_b.printer(), c.batch),
                     BatchDigits(result.printer(), c.batch))},
       {"BEFORE_A", load_a.before()},
       {"BEFORE_B", load_b.before()},
       {"LOAD_A", load_a.load()},
       {"LOAD_B", load_b.load()},
       {"STORE_A", load_a.store()},
       {"STORE_B", load_b.store()},
       {"RESULT", result.Code(tile, tile.thread_rows, tile.thread_columns,
                              absl::StrCat("thread_row * ", tile.thread_rows, " + i"), column_of_j,
                              m, n, type)},
       {"ROWS + 4", absl::StrCat(tile.rows + 4)},
       {"COLUMNS + 4", absl::StrCat(tile.columns + 4)},
       {"TOTAL_ROWS", absl::StrCat(m)},
       {"TOTAL_COLUMNS", absl::StrCat(n)},
       {"TOTAL_DEPTH", absl::StrCat(k)},
       {"THREAD_ROWS", absl::StrCat(tile.thread_rows)},
       {"THREAD_COLUMNS", absl::StrCat(tile.thread_columns)},
       {"COLUMN_OF_J", column_of_j},
       {"COLUMNS", absl::StrCat(tile.columns)},
       {"ROWS", absl::StrCat(tile.rows)},
       {"DEPTH", absl::StrCat(tile.depth)},
       {"ACROSS", absl::StrCat(across)},
       {"TILES_M", absl::StrCat(tiles_m)},
       {"TILES_N", absl::StrCat(tiles_n)},
       {"NUMBER", TypeName(context.number)},
       {"TYPE", type}});
  std::vector<int> reads = load_a.printer().slots();
  for (int slot : load_b.printer().slots()) reads.push_back(slot);
  for (int slot : result.printer().slots()) reads.push_back(slot);
  const bool checks =
      load_a.printer().checks() || load_b.printer().checks() || result.printer().checks();
  return Finish(context, std::move(reads), out.out_slot, checks, tiles_m * tiles_n * batch, threads,
                true, absl::StrCat("by tile ", tile.ToString()), body);
}

}  // namespace lemma::codegen
