#include "optimizer/search/rewrite_steps.h"

#include <utility>

namespace lemma {

std::vector<RewriteStep> StepsOf(const Graph& graph, absl::Span<const SitePtr> sites) {
  std::vector<RewriteStep> steps;
  EditGraph edited(graph, {});
  std::vector<int> order = edited.GraphOrder();
  uint64_t hash = edited.StructuralHash(order);
  std::vector<int> position;
  for (const SitePtr& site : sites) {
    position.assign(edited.num_nodes(), -1);
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
    RewriteStep step;
    std::vector<std::string> vars;
    for (const ValueRef& v : site->match.vars) {
      step.vars.push_back({position[v.node], v.output});
      vars.push_back(NameInSteps(edited.LabelOf(v), position[v.node], v.output));
    }
    for (int node : site->match.nodes) step.nodes.push_back(position[node]);
    step.name = site->rule->rule().name;
    step.where = Describe(site->rule->rule(), vars, site->match.symbols);
    step.before = hash;
    edited.Apply(site->edit);
    order = edited.GraphOrder();
    step.after = hash = edited.StructuralHash(order);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace lemma
