#include "verifier/referee/fold_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rewrite/matching/apply.h"
#include "rewrite/matching/match.h"

namespace lemma::referee {
namespace {

constexpr int kMaxSteps = 2000;
constexpr size_t kMaxFormulas = 2000;

struct Counts {
  int on_weights = 0, on_others = 0;
};

Counts CountOperators(const Substitution& rule, const Pattern& pattern) {
  Counts counts;
  std::vector<bool> fixed;
  for (const PatternNode& node : pattern.nodes) {
    fixed.push_back(std::all_of(node.inputs.begin(), node.inputs.end(), [&](PatternValue v) {
      return v.is_var() ? rule.vars[v.index].role != VarRole::kAny : fixed[v.node];
    }));
    if (node.op == nullptr) continue;
    ++(fixed.back() ? counts.on_weights : counts.on_others);
  }
  return counts;
}

// The graph after one step; nullopt if no rule matches.
std::optional<Graph> Step(const Graph& graph, const std::vector<Matcher>& matchers) {
  const MatchIndex index(graph);
  std::optional<Graph> next;
  for (const Matcher& matcher : matchers) {
    matcher.ForEach(index, [&](const Match& match) {
      auto applied = Apply(matcher.rule(), match, index);
      if (applied.ok()) next = *std::move(applied);
      return !next;
    });
    if (next) return next;
  }
  return std::nullopt;
}

}  // namespace

bool FoldsIntoWeights(const Substitution& rule) {
  const Counts source = CountOperators(rule, rule.source),
               target = CountOperators(rule, rule.target);
  return target.on_others < source.on_others && target.on_weights > source.on_weights;
}

Graph FoldIntoWeights(const Graph& graph, const std::vector<Substitution>& rules,
                      const Deadline& deadline) {
  std::vector<Matcher> matchers;
  for (const Substitution& rule : rules) {
    if (!FoldsIntoWeights(rule)) continue;
    auto matcher = Matcher::Create(rule);
    if (matcher.ok()) matchers.push_back(*std::move(matcher));
  }
  Graph folded = graph;
  for (int step = 0; step < kMaxSteps && !deadline.Passed(); ++step) {
    auto next = Step(folded, matchers);
    if (!next) break;
    folded = *std::move(next);
  }
  return folded;
}

std::vector<Value> WeightFormulas(const Graph& graph, const std::vector<Substitution>& rules,
                                  const Deadline& deadline) {
  std::vector<Value> formulas;
  const MatchIndex index(graph);
  for (const Substitution& rule : rules) {
    const Counts source = CountOperators(rule, rule.source),
                 target = CountOperators(rule, rule.target);
    if (target.on_weights <= source.on_weights || FoldsIntoWeights(rule)) continue;
    auto matcher = Matcher::Create(rule);
    if (!matcher.ok()) continue;
    matcher->ForEach(index, [&](const Match& match) {
      auto outputs = BuildTarget(rule, match);
      if (outputs.ok()) formulas.insert(formulas.end(), outputs->begin(), outputs->end());
      return formulas.size() < kMaxFormulas && !deadline.Passed();
    });
  }
  return formulas;
}

}  // namespace lemma::referee
