// Which applications of a graph become one CUDA kernel, from their definitions alone.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_H_
#define LEMMA_RUNTIME_CUDA_FUSION_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

struct Fusion {
  // By node: the group it is in; -1 for inputs and for what is static or an alias.
  std::vector<int> group_of;
  // Positions of the nodes of each group, ascending. The last one's outputs are the group's.
  std::vector<std::vector<int>> groups;
  // By node: its output is its operand's memory, read in the same order.
  std::vector<bool> is_alias;
  // By node: an offload whose value only barriers read, or a barrier that reads such a one: a copy
  // to the host's memory or from it. In a group of its own.
  std::vector<bool> is_transfer;
};

// An application joins the group of its users, if it is one and the application's value is no
// output of the graph, where recomputing it costs less than storing and reading it:
//   * without reductions: where each element is read about once, or only moved; but not as a factor
//     of a product where it can be the epilogue of another one;
//   * with reductions: where its users are element-wise and of its shape (an epilogue), or where
//     the whole group is still one row kernel (a normalization made of small operators).
Fusion Fuse(const UseTable& uses, NodeTraitsCache& traits);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_H_
