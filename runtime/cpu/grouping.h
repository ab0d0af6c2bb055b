// Which applications of a graph run together in one kernel.
#ifndef LEMMA_RUNTIME_CPU_GROUPING_H_
#define LEMMA_RUNTIME_CPU_GROUPING_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "runtime/cpu/kernel.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cpu {

// A graph's nodes and values by position, and who uses what.
struct UseTable {
  explicit UseTable(const Graph& graph);

  int NodeOf(const Node& node) const { return position.at(&node); }
  int IdOf(const Value& v) const { return first_value[NodeOf(v.node())] + v.output(); }
  // Positions of the nodes that read the value, one entry per operand, ascending.
  const std::vector<int>& Users(const Value& v) const { return users[IdOf(v)]; }
  bool IsOutput(const Value& v) const { return is_output[IdOf(v)]; }

  const std::vector<NodePtr>& nodes;
  absl::flat_hash_map<const Node*, int> position;
  std::vector<int> first_value;  // by node
  std::vector<std::vector<int>> users;
  std::vector<bool> is_output;
  // By node: depends on weights and constants alone, so it is computed once, at compile time.
  std::vector<bool> is_static;
};

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
Grouping GroupNodes(const UseTable& uses, NodeTraitsCache& traits, int threads);

bool IsReshape(const Node& node);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_GROUPING_H_
