// Generates CUDA kernels from definitions.
//
// A definition becomes a sequence of kernels, printed from the same loop nests that the CPU
// evaluates (kernels/loops/loop_ir.h). There are four schedules:
//
//   * by element: a thread computes one element or, if memory is contiguous, several consecutive
//     ones (at most 16 bytes).
//   * by row: a warp or a block computes the elements that share reductions, and its threads carry
//     out each reduction together. Softmax and normalizations are one kernel. If both factors of a
//     sum of products are contiguous, a thread loads up to 16 bytes of the narrower factor at once,
//     and as many elements of the other.
//   * by tile: a block computes a tile of a sum of products (matrix products
//     and convolutions of any layout, and their gradients), with the factors in
//     shared memory. The kernel includes computations on the sum (bias,
//     activation, residual) and on the factors. If the precision is not f32,
//     products run on tensor cores (mma.sync); in the precision `stored`, only
//     products whose factors need no rounding (product_precision.h). If both
//     factors of such a product are tensors of one 16-bit type, sm_90
//     multiplies them by warpgroup (wgmma), and the copy engine (TMA) fetches
//     the tiles. From sm_80 on, products of 8-bit integers, less their zero
//     points, run on tensor cores in any precision, if their sums are exact.
//   * streamed: attention, that is, a product whose first factor is the softmax of another
//     product's results (the scores). The kernel multiplies by warpgroup and keeps a tile of the
//     scores in registers. Only on sm_90, in a precision other than f32, and for tensors of one
//     16-bit type.
//
// Sums are reassociated, but the kernel fixes their order, so two runs give the same bits. In a
// tiled sum, a factor that a guard excludes (as padding does) counts as 0; its term is still
// computed, and is NaN if the other factor is infinite or NaN.
#ifndef LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_
#define LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "graph/expr/tensor_expr.h"
#include "kernels/codegen/gemm_call.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tiles/tile_choice.h"
#include "kernels/codegen/tiles/tile_table.h"

namespace lemma::codegen {

// A tensor as the copy engine sees it (sm_90: cuTensorMapEncodeTiled). Dimensions are listed from
// the fastest, whose stride is 1.
struct BulkSource {
  int slot = -1;                       // the tensor's number in GridProgram::slots
  int64_t offset = 0;                  // of the first element, in elements
  std::vector<int64_t> dims, strides;  // in elements
  std::vector<int> box;  // elements that a copy moves, by dimension; 128 bytes in dimension 0
};

// One launch of a kernel over a one-dimensional grid.
struct GridKernel {
  std::string name;  // the function's name, derived from its code: equal kernels have equal names
  // Begins with the schedule's name: "by element x4", "by row of 256", "by tile 64x64x16 by 256".
  std::string schedule;
  std::string code;  // extern "C" __global__ void NAME(…), see SourceOf
  int64_t blocks = 1;
  int threads = 1;            // per block
  bool synchronizes = false;  // has barriers or shuffles
  int shared_bytes = 0;       // bytes of shared memory that the launch has to provide
  // Slots that are read. The first arguments of the kernel are pointers to their first elements.
  // Their memory must be row-major and aligned to 256 bytes.
  std::vector<int> reads;
  std::vector<int> writes;  // slots that are written; their pointers follow those of `reads`
  // If true, the next argument points to an int. A read outside its tensor gives 0.
  // Such a read sets this int to 1 if one of its indices depends on loaded elements, and otherwise
  // to 2: then the definition is wrong.
  bool checks = false;
  // The last arguments are maps of these tensors (BulkMap in prelude.cuh), one for each.
  std::vector<BulkSource> bulk;
  // The same computation as a call of a library; nullopt if the kernel computes anything that
  // GemmCall does not describe.
  std::optional<GemmCall> gemm;
  // Set only for a kernel by tile.
  std::optional<TileUse> tile;
  // Set only for a streamed kernel: the size of the attention that it computes.
  std::optional<StreamSize> streamed;
};

// A tensor of a program. The slots are, in this order: the definition's inputs, the tensors that
// the definition computes, and temporaries of the program.
struct GridSlot {
  DType dtype = DType::kF32;
  int64_t elements = 1;
};

struct GridProgram {
  int num_inputs = 0;
  std::vector<GridSlot> slots;
  std::vector<int> outputs;         // slots of the outputs, in order
  std::vector<GridKernel> kernels;  // in the order of their launches
  // The only output must be given the memory of this input, since the kernels write only elements
  // that differ from the input's (update_in_place.h). -1: the kernels write every element.
  int kept = -1;
};

// The only architecture with the instructions for products by warpgroup: sm_90a, not a newer one.
constexpr int kWarpgroupArchitecture = 90;

struct GridOptions {
  // For measurements: forces this choice for every sum of products that has it among TileChoices.
  std::optional<TileChoice> tile;
  // Measured tiles of the device. Without a table, the time model chooses every tile.
  std::shared_ptr<const TileTable> tiles;
  // How kernels by tile and streamed kernels round the factors of products. Definitions that
  // compute in f64 or in integers are not affected, and neither are products of 8-bit integers.
  ProductPrecision precision = ProductPrecision::kF32;
  // The device's compute capability, 90 for sm_90; decides which instructions products may use.
  int architecture = kWarpgroupArchitecture;
  // For measurements: forces a streamed kernel wherever one is possible. The
  // kernel uses the tile of StreamTiles that has these rows and keys; if there
  // is none, the tile is chosen as without this option.
  std::optional<StreamTile> stream;
};

// InvalidArgument if a size is not constant or the definition is malformed. Unimplemented if a
// tensor's element type is a small float or an integer of 4 or 2 bits. The kernels compute in the
// number type that ArithmeticFor (graph/expr/arithmetic.h) gives.
absl::StatusOr<GridProgram> MakeGridProgram(const Definition& definition,
                                            const GridOptions& options = {});

// Whether `definition` has one output and at least one local tensor, and can be one kernel that
// computes no reduction twice.
bool IsOneKernel(const Definition& definition);

// The size of the attention if MakeGridProgram makes `definition` one streamed kernel; nullopt
// otherwise.
std::optional<StreamSize> StreamedSize(const Definition& definition, const GridOptions& options);

// Whether `definition` only reads its one input in order: output element i is input element i, in
// row-major order.
bool KeepsOrder(const Definition& definition);

// Whether `definition` can be lowered to loop nests after its locals are substituted
// (kernels/loops/loop_check.h).
bool IsEvaluable(const Definition& definition);

// The same program with kernels that may write memory that they read: their pointers have no
// `__restrict__`.
GridProgram WithAliases(const GridProgram& program);

// The source of `kernels` with the functions that they call, for NVRTC, nvcc, or a host compiler
// with an emulator.
std::string SourceOf(const std::vector<const GridKernel*>& kernels);

// The element type's name in kernels: "float", "bf16", "truth", …
const char* TypeName(DType dtype);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_
