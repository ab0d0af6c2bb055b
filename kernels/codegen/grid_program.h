// Definitions as CUDA kernels.
//
// A definition becomes one kernel for each tensor it makes, printed from the same loop nests that
// the CPU evaluates (kernels/loops/loop_ir.h). Three schedules:
//
//   * by element: a thread computes one element, or as many consecutive ones as 16 bytes hold where
//     memory is contiguous.
//   * by row: a warp or a block computes the elements that share reductions, each of which its
//     threads carry out together; softmax and normalizations are one kernel.
//   * by tile: sums of products (matrix products and convolutions of any layout, their gradients
//     included) in tiles of the result, the factors going through shared memory. What is computed
//     from the sum (bias, activation, residual) and what the factors are made of is part of it.
//
// Sums are reassociated, in an order that depends on shapes only. A term of a tiled sum that a
// guard leaves out counts as 0 times the other factor: NaN where that is infinite or NaN.
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
#include "kernels/codegen/tile_choice.h"

namespace lemma::codegen {

// One launch of a kernel over a one-dimensional grid.
struct GridKernel {
  std::string name;      // of the function: from its code, so equal kernels have equal names
  std::string schedule;  // "by element x4", "by row of 256", "by tile 64x64x16": for people
  std::string code;      // extern "C" __global__ void NAME(…), see SourceOf
  int64_t blocks = 1;
  int threads = 1;            // in a block
  bool synchronizes = false;  // has barriers or shuffles
  // Pointers to the first elements of these slots, row-major and aligned to 256 bytes.
  std::vector<int> reads;
  std::vector<int> writes;  // more pointers, behind those
  // If set, another one to an int, which becomes 1 if an index that was loaded is outside its
  // tensor, and 2 if another one is: a mistake in the definition. Then 0 is read.
  bool checks = false;
  // The same as a matrix product, for a library; nullopt if it is none, or more than that.
  std::optional<GemmCall> gemm;
  // Of a kernel by tile.
  std::optional<TileUse> tile;
};

// Tensors of a program: the definition's inputs, its own tensors, then temporaries.
struct GridSlot {
  DType dtype = DType::kF32;
  int64_t elements = 1;
};

struct GridProgram {
  int num_inputs = 0;
  std::vector<GridSlot> slots;
  std::vector<int> outputs;         // slots
  std::vector<GridKernel> kernels;  // in order
};

struct GridOptions {
  // For measurements: of every sum of products where it is one of its TileChoices.
  std::optional<TileChoice> tile;
};

// InvalidArgument if sizes are open or the definition is malformed. f16 and bf16 are computed with
// in f32; f64, and integers that come of floats, in f64; integers alone in 64 bits.
absl::StatusOr<GridProgram> MakeGridProgram(const Definition& definition,
                                            const GridOptions& options = {});

// Whether all of `definition`, which has one output and locals, can be one kernel in which no
// reduction is computed again and again.
bool IsOneKernel(const Definition& definition);

// Whether `definition` only reads its one input, in order: element i of both, counted row by row.
bool KeepsOrder(const Definition& definition);

// Whether `definition` with all its locals substituted is within the limits of evaluation.
bool IsEvaluable(const Definition& definition);

// The same program in kernels that may write what they read: without the promise to the compiler
// that they do not.
GridProgram WithAliases(const GridProgram& program);

// `kernels` behind what they call: a source for NVRTC, nvcc, or a host compiler with an emulator.
std::string SourceOf(const std::vector<const GridKernel*>& kernels);

// The type of elements in kernels: "float", "bf16", "truth", …
const char* TypeName(DType dtype);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_GRID_PROGRAM_H_
