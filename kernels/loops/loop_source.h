// The input of lowering: a box of a tensor and its expression. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_SOURCE_H_
#define LEMMA_KERNELS_LOOPS_LOOP_SOURCE_H_

#include <cstdint>
#include <vector>

#include "graph/expr/scalar_expr.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {
namespace loops {

// A tensor in memory. Its number among the slots is its TensorId in the expressions.
struct Slot {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements
};

// A box of a tensor that a definition writes: the value of `body` at every value of `axes`, stored
// at index `out` of tensor `slot`. Extents are constants, and no variable of `axes` is bound again.
struct NestSource {
  int slot = -1;
  std::vector<Axis> axes;
  Idx out;
  ScalarExpr body;
};

// Whether an axis has extent 0, so that nothing is computed.
bool IsEmpty(const NestSource& source);

// The source of all of `tensor`, with one binder per variable. *fresh is the number of the next new
// variable, and is advanced.
NestSource SourceOf(const TensorExpr& tensor, int slot, int* fresh);

// The tensors of `definition`, row-major.
std::vector<Slot> DenseSlots(const Definition& definition);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_SOURCE_H_
