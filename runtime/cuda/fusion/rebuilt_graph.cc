#include "runtime/cuda/fusion/rebuilt_graph.h"

#include <string>
#include <utility>

#include "graph/builder.h"

namespace lemma::cuda {

Graph WithNodes(const Graph& graph,
                const std::function<std::vector<Value>(const NodePtr&, const ValueMap&)>& rebuilt) {
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  ValueMap map;
  for (const NodePtr& node : graph.nodes()) {
    std::vector<Value> now;
    if (node->is_op()) now = rebuilt(node, map);
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value v(node, i);
      const Value& changed = now.empty() ? v : now[i];
      const absl::string_view label = graph.LabelOf(v);
      if (!label.empty()) builder.Label(changed, std::string(label));
      if (changed != v) map.Set(v, changed);
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], map.Of(graph.outputs()[i]));
  }
  return *std::move(builder).Build();
}

}  // namespace lemma::cuda
