// Numbers a graph's nodes and values by execution order (ScheduleNodes in runtime/plan/schedule.h),
// and records the users of each value.
#ifndef LEMMA_RUNTIME_PLAN_USE_TABLE_H_
#define LEMMA_RUNTIME_PLAN_USE_TABLE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma {

// The table keeps the nodes alive; the graph need not outlive the table. The functions accept only
// nodes and values of the graph.
struct UseTable {
  explicit UseTable(const Graph& graph);

  // The number of a node, and the number of a value; both count from 0.
  int NodeOf(const Node& node) const { return position.at(&node); }
  int IdOf(const Value& v) const { return first_value[NodeOf(v.node())] + v.output(); }
  // The numbers of the nodes that read the value, ascending. A node occurs once for each of its
  // operands that is the value.
  const std::vector<int>& Users(const Value& v) const { return users[IdOf(v)]; }
  bool IsOutput(const Value& v) const { return is_output[IdOf(v)]; }

  const std::vector<NodePtr> nodes;                // in execution order
  absl::flat_hash_map<const Node*, int> position;  // in `nodes`
  std::vector<int> first_value;                    // by node: the number of its output 0
  std::vector<std::vector<int>> users;             // by value
  std::vector<bool> is_output;                     // by value
  // By node: whether it depends only on weights and constants, so that it is computed once, at
  // compile time.
  std::vector<bool> is_static;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_USE_TABLE_H_
