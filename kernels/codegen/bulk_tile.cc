// Generates sums of products of 16-bit factors by tile for warpgroups of sm_90a: the copy engine
// moves boxes of the factors to shared memory, and wgmma multiplies them there.
//
// The copy engine is TMA (cp.async.bulk.tensor). A block has one warpgroup for every 64 rows of its
// tile, and a warp or a warpgroup of which one thread issues copies. Shared memory is a ring of
// stages, each with the tiles of one step and two barriers (mbarrier): a phase of `full` ends when
// the tiles have arrived, one of `empty` when all warpgroups have multiplied them. A factor's tile
// consists of lines of 128 bytes: a line of 64 numbers along the depth for each row (K-major) or,
// where adjacent rows are adjacent in memory (MN-major), a line of 64 rows for each depth, in
// groups of 64 rows. In the end each warp writes its sums to the same memory, to store the result
// by 16 bytes.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "kernels/codegen/schedules.h"
#include "kernels/codegen/tile_parts.h"

namespace lemma::codegen {

using loops::IndexLeaf;
using loops::Nest;

std::optional<BulkFactor> MatchBulkFactor(const KernelContext& context, const Nest& nest, int batch,
                                          int64_t rows, int64_t depth) {
  constexpr size_t kMostDims = 5;
  // The engine's limits: 16 bytes between steps of a dimension, and of the address.
  constexpr int64_t kStep = 8, kMostElements = int64_t{1} << 31, kMostStride = int64_t{1} << 38;
  const loops::Node& root = nest.nodes[nest.root];
  if (root.kind != ScalarExpr::Kind::kRead || !root.checks.empty()) return std::nullopt;
  BulkFactor factor;
  factor.dtype = context.storage[root.slot];
  if (factor.dtype != DType::kF16 && factor.dtype != DType::kBF16) return std::nullopt;
  for (const auto& [leaf, step] : root.index.terms) {
    if (nest.leaves[leaf].kind != IndexLeaf::Kind::kVar || step < 0) return std::nullopt;
  }
  const int row = batch, deep = batch + 1;
  const int64_t row_step = root.index.CoefficientOf(row),
                depth_step = root.index.CoefficientOf(deep);
  factor.rows_adjacent = row_step == 1 && rows > 1;
  if (!factor.rows_adjacent && depth_step != 1 && depth > 1) return std::nullopt;
  factor.source.slot = root.slot;
  factor.source.offset = root.index.base;
  if (root.index.base % kStep != 0) return std::nullopt;
  auto add = [&](int var, int64_t extent, int64_t stride) {
    factor.vars.push_back(var);
    factor.source.dims.push_back(extent);
    factor.source.strides.push_back(stride);
  };
  if (factor.rows_adjacent) {
    add(row, rows, 1);
    add(deep, depth, depth_step);
  } else {
    add(deep, depth, 1);
    add(row, rows, row_step);
  }
  for (int i = 0; i < batch; ++i) {
    const int64_t step = root.index.CoefficientOf(i);
    if (step != 0) add(i, nest.vars[i].extent, step);
  }
  if (factor.vars.size() > kMostDims) return std::nullopt;
  for (size_t d = 0; d < factor.vars.size(); ++d) {
    int64_t& stride = factor.source.strides[d];
    if (factor.source.dims[d] >= kMostElements) return std::nullopt;
    if (d == 0) continue;
    const int64_t line = factor.source.dims[0];
    if (factor.source.dims[d] == 1) stride = CeilDivide(line, kStep) * kStep;  // it is never taken
    // The driver's documentation leaves open whether lines may overlap.
    if (stride < line || stride % kStep != 0 || stride >= kMostStride) return std::nullopt;
  }
  return factor;
}

namespace {

struct BulkFactors {
  BulkFactor a, b;
};

std::optional<BulkFactors> MatchBulkFactors(const KernelContext& context,
                                            const loops::ContractionSource& c, int* fresh) {
  if (context.number != Number::kFloat || context.precision == ProductPrecision::kF32 ||
      context.architecture != kWarpgroupArchitecture) {
    return std::nullopt;
  }
  const int batch = static_cast<int>(c.batch.size());
  const int64_t k = Size(c.k);
  const Nest a = LowerMerged(context, c.a, 0, {}, c.batch, c.m, c.k, fresh);
  const Nest b = LowerMerged(context, c.b, 0, {}, c.batch, c.n, c.k, fresh);
  auto factor_a = MatchBulkFactor(context, a, batch, Size(c.m), k);
  auto factor_b = MatchBulkFactor(context, b, batch, Size(c.n), k);
  if (!factor_a || !factor_b || factor_a->dtype != factor_b->dtype) return std::nullopt;
  return BulkFactors{*std::move(factor_a), *std::move(factor_b)};
}

// The descriptor of a factor's numbers at depth k of the step; `first` is the tile's place.
std::string DescriptorText(const BulkFactor& factor, const std::string& first) {
  return absl::StrCat("TileDescriptor(", first, " + k * ", factor.DepthBytes(), ", ",
                      factor.rows_adjacent ? "true" : "false", ")");
}

}  // namespace

std::string BulkCopyText(const char* name, BulkFactor* factor, int batch, int64_t tile_rows,
                         const std::string& place, const std::string& barrier) {
  factor->source.box.assign(factor->vars.size(), 1);
  factor->source.box[0] = factor->rows_adjacent ? kGroupRows : kBulkDepth;
  factor->source.box[1] = factor->rows_adjacent ? kBulkDepth : tile_rows;
  std::vector<std::string> at;
  for (int var : factor->vars) {
    at.push_back(var == batch + 1 ? "depth"
                 : var == batch   ? absl::StrCat("static_cast<int>(", name, "_first)",
                                               factor->rows_adjacent ? " + row" : "")
                                  : absl::StrCat("batch_", var));
  }
  const std::string copy =
      absl::StrCat("const int at[] = {", absl::StrJoin(at, ", "), "};\nCopyInBulk(", place,
                   factor->rows_adjacent ? absl::StrCat(" + row * ", kLineBytes) : "", ", map_",
                   name, ", ", barrier, ", at);\n");
  if (!factor->rows_adjacent) return absl::StrCat("{\n", copy, "}\n");
  return absl::StrCat("#pragma unroll\nfor (int row = 0; row < ", tile_rows,
                      "; row += ", kGroupRows, ") {\n", copy, "}\n");
}

std::string BulkCoordinates(const std::vector<Axis>& batch) {
  std::string text;
  int64_t inner = Size(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    const int64_t extent = batch[i].extent.value();
    inner /= extent;
    absl::StrAppend(&text, "[[maybe_unused]] const int batch_", i, " = static_cast<int>(batch / ",
                    inner, " % ", extent, ");\n");
  }
  return text;
}

std::string GiveRegistersText(int warpgroups) {
  return absl::StrCat("GiveRegisters<", warpgroups == 2 ? 40 : 32, ">();\n");
}
std::string TakeRegistersText(int warpgroups) {
  return absl::StrCat("TakeRegisters<", warpgroups == 2 ? 232 : 160, ">();\n");
}
void LimitToOneBlock(GridKernel* kernel) {
  const std::string bounds = absl::StrCat("__launch_bounds__(", kernel->threads);
  kernel->code = absl::StrReplaceAll(kernel->code, {{bounds, absl::StrCat(bounds, ", 1")}});
}

BulkResult::BulkResult(const KernelContext& context, const Nest& out, const TiledSource& tiled,
                       int64_t rows, int64_t columns) {
  const std::vector<Axis>& batch = tiled.contraction.batch;
  ResultPacking packing = ChooseResultPacking(context, out, tiled.sum_slot,
                                              static_cast<int>(batch.size()), rows, columns);
  rows_adjacent_ = packing.rows_adjacent;
  if (packing.width > 1) {
    packed_.emplace(context, out, tiled.sum_slot, batch, std::move(packing));
  } else {
    single_.emplace(context, out, tiled.sum_slot, batch);
  }
}

std::string BulkResult::Code(const TileShape& tile, int64_t rows, int64_t columns,
                             const char* index_type) const {
  if (!packed_) {
    return single_->Code(tile, 2, tile.columns / 4, "warp_row + i * 8 + group",
                         "j / 2 * 8 + lane * 2 + j % 2", rows, columns, index_type);
  }
  const int64_t line = LineNumbers(tile), lines = Lines(tile);
  const char* const store =
      rows_adjacent_ ? "staged[j / 2 * 8 + lane * 2][i * 8 + group] = sum[i][j];\n"
                       "staged[j / 2 * 8 + lane * 2 + 1][i * 8 + group] = sum[i][j + 1];\n"
                     : "StorePack<2>(&staged[i * 8 + group][j / 2 * 8 + lane * 2], "
                       "Pack<float, 2>{{sum[i][j], sum[i][j + 1]}});\n";
  return absl::StrCat(
      "float (*const staged)[", line, "] = reinterpret_cast<float (*)[", line,
      "]>(shared) + threadIdx.x / 32 * ", lines, ";\nSyncThreads<", tile.rows / kGroupRows * 128,
      ">();\n", "#pragma unroll\nfor (int i = 0; i < 2; ++i) {\n",
      "#pragma unroll\nfor (int j = 0; j < ", tile.columns / 4, "; j += 2) {\n", store,
      "}\n}\n__syncwarp();\n", packed_->Code(tile, "warp_row", rows, columns, index_type));
}

bool CopiesInBulk(const KernelContext& context, const loops::ContractionSource& contraction,
                  int* fresh) {
  return MatchBulkFactors(context, contraction, fresh).has_value();
}

loops::ContractionSource BatchedForBulk(const KernelContext& context,
                                        const loops::ContractionSource& contraction, int* fresh) {
  if (CopiesInBulk(context, contraction, fresh)) return contraction;
  for (const bool columns : {false, true}) {
    loops::ContractionSource batched = contraction;
    std::vector<Axis>& axes = columns ? batched.n : batched.m;
    while (axes.size() > 1) {
      batched.batch.push_back(axes.front());
      axes.erase(axes.begin());
      if (CopiesInBulk(context, batched, fresh)) return batched;
    }
  }
  return contraction;
}

GridKernel KernelByBulkTile(const KernelContext& context, const TiledSource& tiled,
                            const TileShape& tile, int* fresh) {
  const loops::ContractionSource& c = tiled.contraction;
  BulkFactors factors = *MatchBulkFactors(context, c, fresh);
  const int64_t batch = Size(c.batch), m = Size(c.m), n = Size(c.n), k = Size(c.k);
  const int nb = static_cast<int>(c.batch.size());
  const Nest out = LowerMerged(context, tiled.source.body, tiled.source.slot, tiled.source.out,
                               c.batch, c.m, c.n, fresh);
  BulkResult result(context, out, tiled, m, n);
  const int64_t tiles_m = CeilDivide(m, tile.rows), tiles_n = CeilDivide(n, tile.columns);
  const int64_t a_bytes = tile.rows * kLineBytes, b_bytes = tile.columns * kLineBytes;
  const int64_t tiles_bytes = tile.stages * (a_bytes + b_bytes);
  const int64_t shared_bytes = tiles_bytes + 2 * tile.stages * kBarrierBytes;
  const std::string stage = absl::StrCat("shared + stage * ", a_bytes + b_bytes);
  const char* type = IndexTypeFor(std::max({m, n, k}), {&result.printer()});
  const bool moves_registers = tile.copy_warps == 4;
  const std::string body = absl::StrReplaceAll(
      R"(LEMMA_BULK_SHARED(shared, SHARED_BYTES);
BulkBarrier* const full = reinterpret_cast<BulkBarrier*>(shared + TILES_BYTES);
BulkBarrier* const empty = full + STAGES;
const TYPE batch = blockIdx.x / (TILES_M * TILES_N);
const TYPE a_first = static_cast<TYPE>(blockIdx.x / TILES_N % TILES_M) * ROWS;
const TYPE b_first = static_cast<TYPE>(blockIdx.x % TILES_N) * COLUMNS;
const int warpgroup = threadIdx.x / 128;
if (threadIdx.x == 0) {
for (int stage = 0; stage < STAGES; ++stage) {
InitBarrier(&full[stage], 1);
InitBarrier(&empty[stage], WARPGROUPS);
}
PublishBarriers();
}
__syncthreads();
if (warpgroup == WARPGROUPS) {
GIVE_REGISTERSif (threadIdx.x % 128 > 0) return;
COORDINATESfor (int step = 0; step < STEPS; ++step) {
const int stage = step % STAGES, depth = step * DEPTH;
if (step >= STAGES) WaitFor(&empty[stage], (step / STAGES - 1) % 2);
ArriveExpecting(&full[stage], STEP_BYTES);
COPY_ACOPY_B}
return;
}
TAKE_REGISTERSfloat sum[2][SUMS];
#pragma unroll
for (int i = 0; i < 2; ++i) {
#pragma unroll
for (int j = 0; j < SUMS; ++j) sum[i][j] = 0;
}
for (int step = 0; step < STEPS; ++step) {
const int stage = step % STAGES;
WaitFor(&full[stage], step / STAGES % 2);
const unsigned char* const a_tile = shared + stage * STEP_BYTES + warpgroup * GROUP_BYTES;
const unsigned char* const b_tile = shared + stage * STEP_BYTES + A_BYTES;
BeginProducts();
#pragma unroll
for (int k = 0; k < DEPTH; k += 16) {
MultiplyAddTiles<WORDS, EIGHTHS, ROWS_A, ROWS_B>(sum, DESCRIPTOR_A, DESCRIPTOR_B);
}
CommitProducts();
// The products of the step before are complete.
WaitForProducts<1>();
if (step > 0 && threadIdx.x % 128 == 0) Arrive(&empty[(step - 1) % STAGES]);
}
WaitForProducts<0>();
TakeSums(sum);
const int warp_row = threadIdx.x / 32 * 16, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
BATCH_DIGITSRESULT)",
      {{"SHARED_BYTES", absl::StrCat(shared_bytes)},
       {"TILES_BYTES", absl::StrCat(tiles_bytes)},
       {"STEP_BYTES", absl::StrCat(a_bytes + b_bytes)},
       {"GROUP_BYTES", absl::StrCat(kGroupRows * kLineBytes)},
       {"A_BYTES", absl::StrCat(a_bytes)},
       {"STAGES", absl::StrCat(tile.stages)},
       {"STEPS", absl::StrCat(CeilDivide(k, kBulkDepth))},
       {"DEPTH", absl::StrCat(kBulkDepth)},
       {"WARPGROUPS", absl::StrCat(tile.rows / kGroupRows)},
       {"COORDINATES", BulkCoordinates(c.batch)},
       {"COPY_A", BulkCopyText("a", &factors.a, nb, tile.rows, stage, "&full[stage]")},
       {"COPY_B", BulkCopyText("b", &factors.b, nb, tile.columns,
                               absl::StrCat(stage, " + ", a_bytes), "&full[stage]")},
       {"GIVE_REGISTERS", moves_registers ? GiveRegistersText(2) : ""},
       {"TAKE_REGISTERS", moves_registers ? TakeRegistersText(2) : ""},
       {"SUMS", absl::StrCat(tile.columns / 4)},
       {"EIGHTHS", absl::StrCat(tile.columns / 8)},
       {"WORDS", factors.a.dtype == DType::kF16 ? "WordsF16" : "WordsBf16"},
       {"ROWS_A", factors.a.rows_adjacent ? "true" : "false"},
       {"ROWS_B", factors.b.rows_adjacent ? "true" : "false"},
       {"DESCRIPTOR_A", DescriptorText(factors.a, "a_tile")},
       {"DESCRIPTOR_B", DescriptorText(factors.b, "b_tile")},
       {"BATCH_DIGITS", BatchDigits(result.printer(), c.batch)},
       {"RESULT", result.Code(tile, m, n, type)},
       {"TILES_M", absl::StrCat(tiles_m)},
       {"TILES_N", absl::StrCat(tiles_n)},
       {"ROWS", absl::StrCat(tile.rows)},
       {"COLUMNS", absl::StrCat(tile.columns)},
       {"TYPE", type}});
  std::vector<int> reads = result.printer().slots();
  reads.push_back(factors.a.source.slot);
  reads.push_back(factors.b.source.slot);
  GridKernel kernel =
      Finish(context, std::move(reads), out.out_slot, result.printer().checks(),
             tiles_m * tiles_n * batch, tile.threads(), true,
             absl::StrCat("by tile ", tile.ToString(), " in ", Name(context.precision)), body,
             {{"map_a", factors.a.source}, {"map_b", factors.b.source}});
  if (moves_registers) LimitToOneBlock(&kernel);
  kernel.shared_bytes = static_cast<int>(shared_bytes);
  return kernel;
}

}  // namespace lemma::codegen
