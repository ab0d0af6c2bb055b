// Decides which applications of a graph become one CUDA kernel, from their definitions alone.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_H_
#define LEMMA_RUNTIME_CUDA_FUSION_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

struct Fusion {
  // By node: its group; -1 for inputs, static values and aliases.
  std::vector<int> group_of;
  // Positions of the nodes of each group, ascending. The last one's outputs are the group's.
  std::vector<std::vector<int>> groups;
  // By node: its output is its operand's memory, read in the same order.
  std::vector<bool> is_alias;
  // By node: an offload whose value only barriers read, or a barrier that reads such a value. It is
  // a copy to or from the host's memory, in a group of its own.
  std::vector<bool> is_transfer;
};

// An application joins the group of its users if they form one group, which has at most 32 nodes
// computed in one arithmetic (Domain), if its value is no output of the graph, and if recomputing
// the value costs less than storing and reading it:
//   * without reductions: if each element is read about once, or only moved, or if it is smaller
//     than its element-wise users; but not as a factor of a product if it can be the epilogue of
//     another product;
//   * with reductions: if its users are element-wise and have its shape (an epilogue), or if the
//     whole group is still one row kernel (a normalization made of small operators).
// An operator that is read at loaded indices joins only if an index outside its result is outside
// its operands too, so that the kernel reports it.
// If `reads_narrow`, casts from 16 bits to f32 are aliases: kernels read the narrow value.
Fusion Fuse(const UseTable& uses, NodeTraitsCache& traits, bool reads_narrow = false);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_H_
