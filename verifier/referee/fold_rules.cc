#include "verifier/referee/fold_rules.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "rewrite/matching/apply.h"
#include "rewrite/matching/match.h"
#include "verifier/referee/evidence/constants.h"

namespace lemma::referee {
namespace {

constexpr int kMaxSteps = 2000;
constexpr size_t kMaxFormulas = 2000;

// Applications of operators in a pattern: on constants, and on other values.
struct Counts {
  int on_constants = 0, on_others = 0;
};

// `fixed`, by variable: whether it is a constant.
Counts CountOperators(const Pattern& pattern, const std::vector<bool>& fixed) {
  Counts counts;
  std::vector<bool> node_fixed;
  for (const PatternNode& node : pattern.nodes) {
    node_fixed.push_back(std::all_of(node.inputs.begin(), node.inputs.end(), [&](PatternValue v) {
      return v.is_var() ? fixed[v.index] : node_fixed[v.node];
    }));
    if (node.op == nullptr) continue;
    ++(node_fixed.back() ? counts.on_constants : counts.on_others);
  }
  return counts;
}

// What a rule does to constants where these variables are constants.
enum class Effect { kNone, kComputes, kFolds };

Effect EffectOf(const Substitution& rule, const std::vector<bool>& fixed) {
  const Counts source = CountOperators(rule.source, fixed),
               target = CountOperators(rule.target, fixed);
  if (target.on_constants == 0 || source.on_others == 0) return Effect::kNone;
  const bool folds =
      target.on_others < source.on_others && target.on_constants > source.on_constants;
  return folds ? Effect::kFolds : Effect::kComputes;
}

// Whether the rule may have an effect, whichever variables are constants.
bool MayHaveEffect(const Substitution& rule) {
  constexpr size_t kMostVars = 10;
  const size_t vars = rule.vars.size();
  if (vars > kMostVars) return false;
  for (unsigned choice = 1; choice < 1u << vars; ++choice) {
    std::vector<bool> fixed(vars);
    for (size_t v = 0; v < vars; ++v) {
      fixed[v] = (choice >> v & 1) != 0 || rule.vars[v].role != VarRole::kAny;
    }
    if (EffectOf(rule, fixed) != Effect::kNone) return true;
  }
  return false;
}

// A graph with what is needed to match rules in it.
class Matched {
 public:
  explicit Matched(Graph graph)
      : graph_(std::move(graph)), index_(graph_), constants_(ConstantNodes(graph_.nodes())) {}

  const Graph& graph() const { return graph_; }
  const MatchIndex& index() const { return index_; }

  Effect EffectAt(const Substitution& rule, const Match& match) const {
    std::vector<bool> fixed;
    for (const Value& value : match.vars) fixed.push_back(constants_.count(&value.node()) > 0);
    return EffectOf(rule, fixed);
  }

 private:
  const Graph graph_;
  const MatchIndex index_;
  const absl::flat_hash_set<const Node*> constants_;
};

class Folder {
 public:
  Folder(const Graph& graph, const std::vector<Substitution>& rules, const Deadline& deadline)
      : matched_(std::make_unique<Matched>(graph)), deadline_(deadline) {
    for (const Substitution& rule : rules) {
      if (!MayHaveEffect(rule)) continue;
      auto matcher = Matcher::Create(rule);
      if (matcher.ok()) matchers_.push_back(*std::move(matcher));
    }
  }

  Folds Run() {
    FindFormulas();
    int steps = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Matcher& matcher : matchers_) {
        while (steps < kMaxSteps && !deadline_.Passed() && Step(matcher)) {
          changed = true;
          ++steps;
        }
      }
    }
    if (steps > 0) FindFormulas();
    return {matched_->graph(), std::move(formulas_)};
  }

 private:
  // Applies the rule where it folds; false if nowhere.
  bool Step(const Matcher& matcher) {
    const Substitution& rule = matcher.rule();
    std::optional<Graph> next;
    matcher.ForEach(matched_->index(), [&](const Match& match) {
      if (matched_->EffectAt(rule, match) != Effect::kFolds) return true;
      auto applied = Apply(rule, match, matched_->index());
      if (!applied.ok()) return true;
      next = *std::move(applied);
      Keep(rule, match);
      return false;
    });
    if (!next) return false;
    matched_ = std::make_unique<Matched>(*std::move(next));
    return true;
  }

  void FindFormulas() {
    const size_t most = formulas_.size() + kMaxFormulas;
    for (const Matcher& matcher : matchers_) {
      matcher.ForEach(matched_->index(), [&](const Match& match) {
        if (matched_->EffectAt(matcher.rule(), match) != Effect::kNone) {
          Keep(matcher.rule(), match);
        }
        return formulas_.size() < most && !deadline_.Passed();
      });
    }
  }

  void Keep(const Substitution& rule, const Match& match) {
    auto outputs = BuildTarget(rule, match);
    if (outputs.ok()) formulas_.insert(formulas_.end(), outputs->begin(), outputs->end());
  }

  std::unique_ptr<const Matched> matched_;
  const Deadline& deadline_;
  std::vector<Matcher> matchers_;
  std::vector<Value> formulas_;
};

}  // namespace

Folds FoldIntoWeights(const Graph& graph, const std::vector<Substitution>& rules,
                      const Deadline& deadline) {
  return Folder(graph, rules, deadline).Run();
}

}  // namespace lemma::referee
