#include "runtime/plan/use_table.h"

#include "runtime/plan/schedule.h"

namespace lemma {

UseTable::UseTable(const Graph& graph) : nodes(ScheduleNodes(graph)) {
  const int n = static_cast<int>(nodes.size());
  position.reserve(n);
  int values = 0;
  for (int i = 0; i < n; ++i) {
    position[nodes[i].get()] = i;
    first_value.push_back(values);
    values += nodes[i]->num_outputs();
  }
  users.resize(values);
  is_output.assign(values, false);
  is_static.assign(n, false);
  for (int i = 0; i < n; ++i) {
    const Node& node = *nodes[i];
    bool all_static = node.kind() != Node::Kind::kInput;
    for (const Value& v : node.inputs()) {
      users[IdOf(v)].push_back(i);
      all_static = all_static && is_static[NodeOf(v.node())];
    }
    is_static[i] = all_static;
  }
  for (const Value& v : graph.outputs()) is_output[IdOf(v)] = true;
}

}  // namespace lemma
