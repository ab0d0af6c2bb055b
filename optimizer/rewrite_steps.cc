#include "optimizer/rewrite_steps.h"

#include <utility>

#include "rewrite/match_index.h"

namespace lemma {

std::vector<RewriteStep> StepsOf(const Graph& graph, absl::Span<const SitePtr> sites) {
  std::vector<RewriteStep> steps;
  EditGraph edited(graph, {});
  std::vector<NodePtr> nodes;
  Graph before = edited.ToGraph(&nodes);
  uint64_t hash = before.StructuralHash();
  for (const SitePtr& site : sites) {
    const Substitution& rule = site->rule->rule();
    const MatchIndex index(before);
    RewriteStep step;
    Match match;
    for (const ValueRef& v : site->match.vars) {
      match.vars.emplace_back(nodes[v.node], v.output);
      step.vars.push_back({index.PositionOf(*nodes[v.node]), v.output});
    }
    for (int node : site->match.nodes) step.nodes.push_back(index.PositionOf(*nodes[node]));
    match.symbols = site->match.symbols;
    step.name = rule.name;
    step.where = Describe(rule, match, index);
    step.before = hash;
    edited.Apply(site->edit);
    Graph after = edited.ToGraph(&nodes);
    step.after = hash = after.StructuralHash();
    steps.push_back(std::move(step));
    before = std::move(after);
  }
  return steps;
}

}  // namespace lemma
