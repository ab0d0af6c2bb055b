#include "generator/derivation.h"

#include <algorithm>
#include <map>
#include <string>

#include "generator/terms.h"

namespace lemma::generator {
namespace {

// Whether the graph has an operator of the instance of each of the pattern's.
bool MayMatch(const TermGraph& pattern, const TermGraph& graph) {
  return std::all_of(pattern.ops.begin(), pattern.ops.end(), [&](const Term& wanted) {
    return std::any_of(graph.ops.begin(), graph.ops.end(),
                       [&](const Term& term) { return term.instance == wanted.instance; });
  });
}

}  // namespace

void Derivation::Add(const Pair& rule, bool usable) {
  rules_.push_back({rule, {rule.target, rule.source}, usable});
}

void Derivation::ForEachNeighbour(const TermGraph& graph,
                                  absl::FunctionRef<void(const TermGraph&, int)> visit) const {
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].usable) continue;
    for (const Pair* rule : {&rules_[i].forward, &rules_[i].backward}) {
      if (!MayMatch(rule->source, graph)) continue;
      ForEachRewrite(set_, graph, *rule,
                     [&](const TermGraph& result) { visit(result, static_cast<int>(i)); });
    }
  }
}

std::vector<int> Derivation::Derive(const Pair& pair, int except) const {
  const std::string target = KeyOf(set_, pair.target);
  std::map<std::string, int> near_source;  // and the first rule that leads there
  std::vector<int> result;
  ForEachNeighbour(pair.source, [&](const TermGraph& graph, int rule) {
    if (rule == except || !result.empty()) return;
    std::string key = KeyOf(set_, graph);
    if (key == target) result = {rule};
    near_source.emplace(std::move(key), rule);
  });
  if (!result.empty()) return result;
  ForEachNeighbour(pair.target, [&](const TermGraph& graph, int rule) {
    if (rule == except || !result.empty()) return;
    auto it = near_source.find(KeyOf(set_, graph));
    if (it != near_source.end()) result = {it->second, rule};
  });
  return result;
}

}  // namespace lemma::generator
