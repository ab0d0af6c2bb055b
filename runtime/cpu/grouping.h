// Decides which applications of operators in a graph run together in one kernel.
#ifndef LEMMA_RUNTIME_CPU_GROUPING_H_
#define LEMMA_RUNTIME_CPU_GROUPING_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {

// The way an application is executed.
enum class NodeRole {
  kNone,    // not executed: an input, or static (UseTable::is_static)
  kView,    // its outputs are views of its input (reshapes too, if the strides allow it)
  kConcat,  // its output is memory that the producers of its inputs write to
  // Computed in the group group_of. A dequantization, or a cast from bf16, may also be in
  // Group::copies of products.
  kKernel,
  kCopied,  // computed in every group that reads its output (Group::copies)
};

struct Group {
  const KernelDef* def = nullptr;
  // Positions in UseTable::nodes, ascending. The last node's outputs are the group's.
  std::vector<int> nodes;
  std::vector<int> copies;  // the part of `nodes` that other groups may contain too
  // The head's position in UseTable::nodes. It is set if `nodes` may have nodes before the head
  // that compute its operands; -1: the head is nodes[0].
  int head = -1;
};

struct Grouping {
  std::vector<NodeRole> role;  // by node
  std::vector<int> group_of;   // by node; -1 unless kKernel
  std::vector<Group> groups;
};

// A group is a head application, such as a convolution, with the applications fused behind it; or
// it is element-wise applications without a head.
//   * A head takes all that it can fuse. One exception: the group of a product of integers ends at
//     its first 8-bit result behind which everything depends only on this result, single static
//     numbers and results of dequantizations.
//   * A head takes the application that computes its operand 0, if the head's kernel fuses this
//     application (KernelDef::fuses_before) and nothing else reads the operand.
//   * An element-wise application that no head took joins the group of its users if all users are
//     in one element-wise group and have its shape. It does not join a group that has 24
//     applications already. A group is computed in one arithmetic (Domain in
//     graph/expr/arithmetic.h).
//   * A product of integers contains the dequantizations of its operands (IntegerOperand in
//     runtime/cpu/kernels/integers/operands.h), static ones too. A product of floats and integer
//     weights contains those of its weights (runtime/cpu/kernels/integers/weight_only_kernel.h).
//   * A product of bf16 numbers contains the casts of its operands, if it reads their results
//     nowhere else (runtime/cpu/kernels/bf16_products.h).
//   * A dequantization of 8-bit integers, or a cast from bf16, is computed in every group that
//     reads it (kCopied), if each of these groups is element-wise, is a product of integers,
//     contains it as the operand of a product, or reads the integers themselves
//     (KernelDef::reads_integers). Then only the integers, or the bf16 numbers, are stored.
//   * An element-wise group joins the group that reads its result if the result
//     has 8 bits, only this one group reads it, the reader is element-wise too,
//     and the values of both groups depend only on one 8-bit value and single
//     static numbers.
//   * Every other application is a group of its own.
//
// `fuse_layout`: see CpuOptions. If it is false, an application is a view only if its result has
// the shape and the elements of its input. All other layout operators, reshapes too, are kernels
// that copy. In addition, no application is kCopied, no head takes the application that computes
// its operand 0, products of bf16 numbers do not contain casts, there are no groups of products of
// integers or of floats and integer weights, and element-wise groups do not join other groups.
Grouping GroupNodes(const UseTable& uses, NodeTraitsCache& traits, int threads, bool fuse_layout);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_GROUPING_H_
