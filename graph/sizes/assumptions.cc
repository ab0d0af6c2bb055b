#include "graph/sizes/assumptions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "graph/sizes/specialize.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

bool TakesSymbolicSizes(const Node& node) {
  return IsSymbolic(node) || std::any_of(node.inputs().begin(), node.inputs().end(),
                                         [](const Value& v) { return IsSymbolic(v.shape()); });
}

}  // namespace

std::vector<Guard> AssumptionsOf(const Graph& graph) {
  std::vector<Guard> assumptions;
  std::set<std::string> seen;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() || !TakesSymbolicSizes(*node)) continue;
    std::vector<ExprType> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(ToExprType(input.type()));
    auto meaning = Define(node->op(), std::move(inputs), ToExprAttrs(node->attrs()));
    if (!meaning.ok()) continue;  // opaque operators require nothing that is known
    for (const Guard& requirement : meaning->requirements) {
      if (Decide(requirement) == true || !seen.insert(requirement.ToString()).second) continue;
      assumptions.push_back(requirement);
    }
  }
  return assumptions;
}

}  // namespace lemma
