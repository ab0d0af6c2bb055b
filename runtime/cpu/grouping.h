// Which applications of a graph run together in one kernel.
#ifndef LEMMA_RUNTIME_CPU_GROUPING_H_
#define LEMMA_RUNTIME_CPU_GROUPING_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {

// How an application is carried out.
enum class NodeRole {
  kNone,    // an input, or static
  kView,    // its outputs are its input's memory (reshapes too, if the strides allow it)
  kConcat,  // its output is memory that its inputs are written to
  kKernel,  // in a group
};

struct Group {
  const KernelDef* def = nullptr;
  std::vector<int> nodes;  // positions, ascending; the last one's outputs are the group's
};

struct Grouping {
  std::vector<NodeRole> role;  // by node
  std::vector<int> group_of;   // by node; -1 unless kKernel
  std::vector<Group> groups;
};

// Heads of kernels take what they can fuse behind them; element-wise applications that only one
// other element-wise application of the same shape reads join it; everything else stands alone.
// Without `fuse_layout` there are no concatenations, and no views but of all of a value as it is:
// each such application is a kernel that copies.
Grouping GroupNodes(const UseTable& uses, NodeTraitsCache& traits, int threads, bool fuse_layout);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_GROUPING_H_
