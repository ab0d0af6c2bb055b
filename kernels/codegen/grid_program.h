// Generates CUDA kernels from definitions.
//
// A definition becomes one kernel for each tensor that it makes, printed from the same loop nests
// that the CPU evaluates (kernels/loops/loop_ir.h). There are four schedules:
//
//   * by element: a thread computes one element, or as many consecutive ones as fit into 16 bytes
//     if memory is contiguous.
//   * by row: a warp or a block computes the elements that share reductions, and its threads carry
//     out each reduction together. Softmax and normalizations are one kernel.
//   * by tile: a block computes a tile of a sum of products (matrix products and convolutions of
//     any layout, and their gradients), with the factors in shared memory. The kernel includes
//     computations on the sum (bias, activation, residual) and on the factors. In another precision
//     than f32, products run on tensor cores (mma.sync). If both factors are tensors of one 16-bit
//     type, sm_90 multiplies them by warpgroup (wgmma), with tiles that the copy engine (TMA)
//     fetches.
//   * streamed: attention, a product with the softmax of another product's results (the scores). It
//     multiplies by warpgroup and keeps a tile of the scores in registers.
//
// Sums are reassociated, in an order that the kernel fixes: two runs give the same bits. In a tiled
// sum, a term that a guard excludes (padding) is 0 times the other factor: NaN if this factor is
// infinite or NaN.
#ifndef LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_
#define LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "graph/expr/tensor_expr.h"
#include "kernels/codegen/gemm_call.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tile_choice.h"

namespace lemma::codegen {

// A tensor as the copy engine sees it (sm_90: cuTensorMapEncodeTiled). Dimensions are listed from
// the fastest, whose stride is 1.
struct BulkSource {
  int slot = -1;                       // of the program
  int64_t offset = 0;                  // of the first element, in elements
  std::vector<int64_t> dims, strides;  // in elements
  std::vector<int> box;  // elements that a copy moves, by dimension; 128 bytes in dimension 0
};

// One launch of a kernel over a one-dimensional grid.
struct GridKernel {
  std::string name;  // the function's name, derived from its code: equal kernels have equal names
  std::string schedule;  // "by element x4", "by row of 256", "by tile 64x64x16": for people
  std::string code;      // extern "C" __global__ void NAME(…), see SourceOf
  int64_t blocks = 1;
  int threads = 1;            // per block
  bool synchronizes = false;  // has barriers or shuffles
  int shared_bytes = 0;       // bytes of shared memory that the launch has to provide
  // Slots that are read. The first arguments of the kernel are pointers to their first elements.
  // Their memory must be row-major and aligned to 256 bytes.
  std::vector<int> reads;
  std::vector<int> writes;  // arguments after those of `reads`
  // If set, the next argument points to an int. The kernel sets it to 1 if a loaded index is
  // outside its tensor, and to 2 if another index is: an error in the definition. The read then
  // gives 0.
  bool checks = false;
  // The last arguments are maps of these tensors (BulkMap in prelude.cuh), one for each.
  std::vector<BulkSource> bulk;
  // The same computation as a matrix product, for a library; nullopt if the kernel does not compute
  // exactly a matrix product.
  std::optional<GemmCall> gemm;
  // Set for a kernel by tile.
  std::optional<TileUse> tile;
  // Set for a kernel that streams a softmax of products into other products.
  std::optional<StreamSize> streamed;
};

// A tensor of a program. Slots are the definition's inputs, its own tensors, then temporaries.
struct GridSlot {
  DType dtype = DType::kF32;
  int64_t elements = 1;
};

struct GridProgram {
  int num_inputs = 0;
  std::vector<GridSlot> slots;
  std::vector<int> outputs;         // slots of the outputs, in order
  std::vector<GridKernel> kernels;  // in the order of their launches
};

// The only architecture with the instructions for products by warpgroup: sm_90a, not a newer one.
constexpr int kWarpgroupArchitecture = 90;

struct GridOptions {
  // For measurements: forces this choice for every sum of products that has it among TileChoices.
  std::optional<TileChoice> tile;
  // How sums of products by tile round their factors. Definitions that compute in f64 or in
  // integers are not affected.
  ProductPrecision precision = ProductPrecision::kF32;
  // The device's compute capability, 90 for sm_90; decides which instructions products may use.
  int architecture = kWarpgroupArchitecture;
  // For measurements: forces a streamed kernel wherever one is possible, with the tile of
  // StreamTiles that has these rows and keys.
  std::optional<StreamTile> stream;
};

// InvalidArgument if a size is not constant or the definition is malformed. f16 and bf16 are
// computed in f32, as are integers of 8 and 16 bits derived from floats; f64, and wider integers
// derived from floats, in f64; integers alone in 64 bits.
absl::StatusOr<GridProgram> MakeGridProgram(const Definition& definition,
                                            const GridOptions& options = {});

// Whether `definition`, which has one output and local tensors, can be one kernel that computes no
// reduction twice.
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

// The same program with kernels that may write memory that they read: their code does not promise
// the compiler that pointers are distinct.
GridProgram WithAliases(const GridProgram& program);

// The source of `kernels` with the functions that they call, for NVRTC, nvcc, or a host compiler
// with an emulator.
std::string SourceOf(const std::vector<const GridKernel*>& kernels);

// The element type's name in kernels: "float", "bf16", "truth", …
const char* TypeName(DType dtype);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_
