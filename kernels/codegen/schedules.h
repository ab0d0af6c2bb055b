// Turns a nest into a kernel by one of the schedules of grid_program.h. Internal to
// kernels/codegen. The schedule by tiles is in tile_schedule.cc and, on tensor cores, in
// tensor_tile.cc, bulk_tile.cc and streamed_tile.cc; matrix products for libraries are in gemm.cc.
#ifndef LEMMA_KERNELS_CODEGEN_SCHEDULES_H_
#define LEMMA_KERNELS_CODEGEN_SCHEDULES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/codegen/grid_program.h"
#include "kernels/codegen/nest_printer.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "kernels/loops/contraction.h"
#include "kernels/loops/loop_ir.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// The context that all kernels of a program share.
struct KernelContext {
  Number number = Number::kFloat;
  ProductPrecision precision = ProductPrecision::kF32;  // kF32 or kBytes unless `number` is kFloat
  int architecture = 0;                                 // as in GridOptions
  std::vector<DType> storage;                           // the type of each slot in memory
  std::vector<loops::Slot> slots;                       // row-major
};

// Reductions that several threads carry out together. A row is one choice of values for `row_axes`;
// its threads divide the values of the other axes among them.
struct RowPlan {
  std::vector<int> reductions;                    // numbers of nodes of the nest
  std::vector<NestPrinter::ReductionPack> packs;  // of the reductions
  std::vector<int> row_axes, other_axes;          // variables of the nest: its axes
  int group = 32;                                 // threads of a row: a warp or a block
};

enum class Rows {
  kNone,      // no reduction, or none worth sharing among threads: use KernelByElement
  kTogether,  // the threads of a row carry out the reductions together: use KernelByRow with *plan
  kApart,     // reductions need other loops than their users: compute them as tensors of their own
};
// How to compute the reductions of the lowered `nest`. *plan must be empty before the call; it
// is complete only for kTogether.
Rows PlanRows(const KernelContext& context, const loops::Nest& nest, RowPlan* plan);

// The kernel of `nest`. By element: one thread per element or per pack of elements. By row: one
// warp or block per row.
GridKernel KernelByElement(const KernelContext& context, const loops::Nest& nest);
GridKernel KernelByRow(const KernelContext& context, const loops::Nest& nest, const RowPlan& plan);
// By element, but only at some elements of the output: `positions` has pairs of a variable and a
// leaf, and each variable takes the value of its leaf, an integer that depends on none of these
// variables. Stores the value of node `value`. A position outside its axis stores nothing.
GridKernel KernelAtPositions(const KernelContext& context, const loops::Nest& nest, int value,
                             const std::vector<std::pair<int, int>>& positions);

// A tensor whose body contains a sum of products, in two parts: `contraction` is the sum, and
// `source` has a read of slot `sum_slot`, at the tensor's axes, in its place.
struct TiledSource {
  loops::NestSource source;
  loops::ContractionSource contraction;
  int sum_slot = -1;
};
// The sizes of a sum of products, for ChooseTile. Here and below, *fresh is the number of the next
// new variable, and is advanced.
ProductSize SizeOf(const KernelContext& context, const loops::ContractionSource& contraction,
                   int* fresh);
// The values of TileUse::a_slot and TileUse::b_slot.
std::pair<int, int> FactorSlots(const KernelContext& context,
                                const loops::ContractionSource& contraction, int* fresh);
// The kernel by tile of `tiled`, without tensor cores.
GridKernel KernelByTile(const KernelContext& context, const TiledSource& tiled,
                        const TileShape& tile, int* fresh);
// The same with tensor cores, in the context's precision; `tile` must use them.
GridKernel KernelByTensorTile(const KernelContext& context, const TiledSource& tiled,
                              const TileShape& tile, int* fresh);
// Whether both factors are tensors of one 16-bit type, laid out such that the copy engine can move
// tiles of them, and the device and the context's precision allow products by warpgroup.
bool CopiesInBulk(const KernelContext& context, const loops::ContractionSource& contraction,
                  int* fresh);
// `contraction`, with the first axes of m or n moved to the batch if the copy engine can move the
// factors only then (as for the images of a 1 x 1 convolution).
loops::ContractionSource BatchedForBulk(const KernelContext& context,
                                        const loops::ContractionSource& contraction, int* fresh);
// As KernelByTensorTile, by warpgroup. CopiesInBulk must be true, and `tile` must have stages.
GridKernel KernelByBulkTile(const KernelContext& context, const TiledSource& tiled,
                            const TileShape& tile, int* fresh);

// A product whose first factor is a softmax of a product's results (attention):
//
//   score[batch, m, key] = f(sum(depth) query(batch, m, depth) * key(batch, key, depth))
//   out[batch, m, n] = g(sum(key) exp(score - most) / total * value(batch, key, n))
//
// where `most` is the greatest score of all keys and `total` the sum of exp(score - most). f and g
// are any computations on single elements, such as a scale, a mask or a bias.
struct StreamedSource {
  loops::NestSource source;  // of the result; reads slot sum_slot in place of sum(key)
  std::vector<Axis> batch, m, keys, depth, n;
  ScalarExpr query, key, value;
  ScalarExpr score;  // reads slot score_slot in place of sum(depth)
  int sum_slot = -1, score_slot = -1;
  // The type that the softmax is rounded to before the product with `value`, if the definition says
  // so.
  std::optional<DType> rounded;
};
// `definition` with all tensors inlined except the output and three others. In attention, these are
// sum(depth), `most` and `total` of StreamedSource. nullopt if another number of tensors remains.
std::optional<Definition> StreamedForm(const Definition& definition);
// Matches `form`, a result of StreamedForm; nullopt if it does not compute the equations above. In
// the result, reads of `sum_slot` and `score_slot` replace sum(key) and sum(depth).
std::optional<StreamedSource> MatchStreamed(const Definition& form, int sum_slot, int score_slot,
                                            int* fresh);
// One kernel for `source`, by warpgroup, that keeps the scores in registers.
// nullopt if the device, the number type or the precision does not allow
// products by warpgroup, if the factors cannot be copied in bulk, if the sizes
// do not fit, or if neither the definition nor the precision rounds the softmax
// to the factors' type. The kernel rounds exp(score - greatest score so far),
// not the softmax, and divides the sums by `total` at the end. The tile is one
// of StreamTiles. It has the rows and keys of options.stream or, if no tile has
// these, of the size's tile in options.tiles. If no tile has these either,
// ChooseStreamTile decides.
std::optional<GridKernel> KernelByStream(const KernelContext& context, const StreamedSource& source,
                                         const GridOptions& options, int* fresh);

// `tiled` as a matrix product for libraries; nullopt if it does not have GemmCall's form, or if the
// precision is f32x3. The result names slots where GemmCall has arguments; NumberArguments replaces
// the slots by the numbers of the arguments of `kernel`.
std::optional<GemmCall> MatchGemm(const KernelContext& context, const TiledSource& tiled);
void NumberArguments(const GridKernel& kernel, GemmCall* call);

// The number of parts into which to split the only reduction of `nest`, so that the device has
// enough work; 1: do not split. For nests that are not computed by tile.
int64_t PartsFor(const KernelContext& context, const loops::Nest& nest);

// Whether one memory access can load or store `width` elements: the elements whose indices are the
// values of `p` at `width` consecutive values of `var`, the first of which is a multiple of
// `width`.
bool Packs(const loops::Nest& nest, const Affine& p, int var, int width);

// The change of the index `p`, in elements, from value 0 to value 1 of `var`, where all other
// variables and all loaded integers are 0.
int64_t StepAlong(const loops::Nest& nest, const Affine& p, int var);

// Makes the kernel whose code is `body`: adds a name and the parameters. It reads the slots `reads`
// and writes slot `writes`; the other arguments are fields of GridKernel. `bulk` are the
// tensors for bulk copies, each with the name of its parameter.
GridKernel Finish(const KernelContext& context, std::vector<int> reads, int writes, bool checks,
                  int64_t blocks, int threads, bool synchronizes, std::string schedule,
                  const std::string& body,
                  const std::vector<std::pair<std::string, BulkSource>>& bulk = {});

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_SCHEDULES_H_
