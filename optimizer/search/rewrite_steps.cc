#include "optimizer/search/rewrite_steps.h"

#include <utility>

namespace lemma::optimizer {

std::vector<RewriteStep> StepsOf(const Graph& graph,
                                 absl::Span<const MatchedEditPtr> matched_edits) {
  std::vector<RewriteStep> steps;
  EditGraph edited(graph, {});
  std::vector<int> order = edited.GraphOrder();
  uint64_t hash = edited.StructuralHash(order);
  std::vector<int> position;
  for (const MatchedEditPtr& matched : matched_edits) {
    position.assign(edited.num_nodes(), -1);
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
    RewriteStep step;
    std::vector<std::string> vars;
    for (const ValueRef& v : matched->match.vars) {
      step.vars.push_back({position[v.node], v.output});
      vars.push_back(NameInSteps(edited.LabelOf(v), position[v.node], v.output));
    }
    for (int node : matched->match.nodes) step.nodes.push_back(position[node]);
    step.name = matched->rule->rule().name;
    step.where = Describe(matched->rule->rule(), vars, matched->match.symbols);
    step.before = hash;
    edited.Apply(matched->edit);
    order = edited.GraphOrder();
    step.after = hash = edited.StructuralHash(order);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace lemma::optimizer
