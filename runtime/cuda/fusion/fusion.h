// Decides which operators of a graph become one CUDA kernel, from their definitions alone.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_FUSION_H_
#define LEMMA_RUNTIME_CUDA_FUSION_FUSION_H_

#include <vector>

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

struct Fusion {
  // By node: its group; -1 for inputs, aliases, nodes of several groups, and static values that are
  // in no group.
  std::vector<int> group_of;
  // Positions of the nodes of each group, ascending. The outputs of the last node are the group's.
  // Only nodes of `byte_factors` (see Fuse), which may be static, and factors rounded to TF32 may
  // be in several groups; group_of is then -1, or the group whose only result the factor is.
  std::vector<std::vector<int>> groups;
  // By node: whether its output is its operand's memory, read in the same order: an operator that
  // keeps the elements and their order, such as a reshape or a barrier, or a cast from 16 bits to
  // f32 (see below).
  std::vector<bool> is_alias;
  // By node: whether it is an offload whose value only barriers read, or a barrier that reads such
  // a value. Such a node is a copy to or from the host's memory, in a group of its own.
  std::vector<bool> is_transfer;
};

// An operator joins the group of its users if all of these hold:
//   * It has one result, which is no output of the graph.
//   * Its users are in one group of fewer than 32 nodes, and one arithmetic (Domain in
//     graph/expr/arithmetic.h) suits these nodes and the operator.
//   * If the group gets more than eight nodes, its composed definition can be lowered to loop nests
//     (codegen::IsEvaluable).
//   * Computing the value again costs less than storing and reading it.
//
// An operator without reductions meets the last condition if it only moves elements, if each
// element is read about once (up to four times by a reduction that is no product), or if it has few
// functions and fewer elements than its element-wise users.
// Exceptions: a factor of a product is stored if it can be the epilogue of another product. A cast
// to 16 bits is stored if the group of its users contains a product.
//
// An operator with reductions meets the last condition if the group's other
// operators have none, and all operators between it and the group's result are
// element-wise and have the value's shape (an epilogue). It also meets the
// condition if the whole group is still one kernel by row
// (kernels/codegen/grid_program.h), such as a normalization written as small
// operators.
//
// If users read an operator's result at indices that are loaded from a tensor (as in a gather), the
// operator joins only if it is a transpose, or element-wise over operands of its own shape. An
// index outside its result is then outside its operands too, so the kernel can report the index.
//
// With a precision other than f32, a cast from 16 bits to f32 is an alias if its operand is stored
// anyway, or if the cast joins no group: kernels read the narrow value. It is no alias if its value
// (or an alias of it) is an output, or is copied to or from the host. With such a precision, a
// 16-bit factor of a product is stored if scalar functions compute it; if its elements are only
// moved, it may join the product's group.
//
// With the precision kStored, a node that rounds a factor of a product to TF32 joins the groups of
// all its users too: the product's kernel has to see that the numbers are rounded.
//
// A node of `byte_factors`, from FindByteFactors (byte_factors.h) or
// FindUnpacking (narrow_weights.h), joins the groups of its users, so that
// kernels read integers of 8 bits. If the group of a product cannot compute the
// node, the node joins none in this way. If another group is full or cannot
// compute it, the node is also stored for that group. A group that contains a
// product of such nodes does not compute in f64: an operator that would change
// this does not join.
//
// Attention for which a streamed kernel is predicted to be faster (streamed_regions.h) is one
// group, together with element-wise users of its result where possible. No other operator joins
// this group.
Fusion Fuse(const UseTable& uses, NodeTraitsCache& traits, const std::vector<bool>& byte_factors,
            const codegen::GridOptions& options = {});

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_FUSION_H_
