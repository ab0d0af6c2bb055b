#include "rewrite/matching/why_not.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rewrite/matching/match_set.h"

namespace lemma {
namespace {

constexpr size_t kMostMatches = 32;

}  // namespace

const char* Name(Missing missing) {
  constexpr const char* kNames[] = {"operator", "operand", "reader",   "attribute", "role",
                                    "type",     "shape",   "constant", "guard",     "tangled",
                                    "coverage", "target",  "nothing"};
  return kNames[static_cast<int>(missing)];
}

// The nodes that the kept conditions reach from the anchor, with the kept parts of them.
struct WhyNotExplainer::Weakened {
  Substitution rule;
  std::optional<Matcher> matcher;
  std::vector<int> number;              // by the whole rule's node; -1: not reached
  std::vector<bool> is_tied, is_typed;  // by the whole rule's variable

  bool Reaches(const PatternValue& value) const {
    return value.is_var() ? is_tied[value.index] : number[value.node] >= 0;
  }
  Term Fresh() {
    rule.symbols.push_back({});
    return Term::Symbol("", static_cast<int>(rule.symbols.size()) - 1);
  }
};

WhyNotExplainer::~WhyNotExplainer() = default;

WhyNotExplainer::WhyNotExplainer(const PreparedRule& rule) : rule_(rule) {
  const Pattern& source = rule.rule().source;
  std::vector<bool> seen(source.nodes.size());
  AddOperators(source.outputs[0].node, &seen);
  AddReaders(&seen);
  AddValues();
}

// Adds conditions on the operands of `node` and, recursively, of the operators that compute them.
void WhyNotExplainer::AddOperators(int node, std::vector<bool>* seen) {
  (*seen)[node] = true;
  const auto& inputs = rule_.rule().source.nodes[node].inputs;
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    conditions_.push_back({Missing::kOperand, node, static_cast<int>(slot)});
    if (!inputs[slot].is_var() && !(*seen)[inputs[slot].node]) {
      AddOperators(inputs[slot].node, seen);
    }
  }
}

// Adds conditions on operators that read reached values, and on the operators that compute their
// operands.
void WhyNotExplainer::AddReaders(std::vector<bool>* seen) {
  const Pattern& source = rule_.rule().source;
  auto is_known = [&](const PatternValue& value) {
    if (!value.is_var()) return static_cast<bool>((*seen)[value.node]);
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      const auto& inputs = source.nodes[n].inputs;
      if ((*seen)[n] && std::count(inputs.begin(), inputs.end(), value) > 0) return true;
    }
    return false;
  };
  auto next = [&](bool of_var) -> std::optional<RuleCondition> {
    for (size_t n = 0; n < source.nodes.size(); ++n) {
      const auto& inputs = source.nodes[n].inputs;
      for (size_t slot = 0; slot < inputs.size() && !(*seen)[n]; ++slot) {
        if (inputs[slot].is_var() == of_var && is_known(inputs[slot])) {
          return RuleCondition{Missing::kReader, static_cast<int>(n), static_cast<int>(slot)};
        }
      }
    }
    return std::nullopt;
  };
  while (true) {
    std::optional<RuleCondition> reader = next(false);
    if (!reader) reader = next(true);
    if (!reader) return;
    conditions_.push_back(*reader);
    AddOperators(reader->node, seen);
  }
}

void WhyNotExplainer::AddValues() {
  const Substitution& rule = rule_.rule();
  auto add = [&](Missing kind, int node, size_t index) {
    conditions_.push_back({kind, node, static_cast<int>(index)});
  };
  for (size_t n = 0; n < rule.source.nodes.size(); ++n) {
    const PatternNode& node = rule.source.nodes[n];
    for (size_t i = 0; i < node.attrs.size(); ++i) add(Missing::kAttribute, static_cast<int>(n), i);
  }
  for (size_t v = 0; v < rule.vars.size(); ++v) {
    if (rule.vars[v].role != VarRole::kAny) add(Missing::kRole, -1, v);
  }
  for (size_t v = 0; v < rule.vars.size(); ++v) add(Missing::kType, -1, v);
  for (size_t v = 0; v < rule.vars.size(); ++v) add(Missing::kShape, -1, v);
  for (size_t n = 0; n < rule.source.nodes.size(); ++n) {
    if (rule.source.nodes[n].op != nullptr) continue;
    add(Missing::kConstant, static_cast<int>(n), kElements);
    add(Missing::kConstant, static_cast<int>(n), kDims);
  }
  for (size_t i = 0; i < rule.where.size(); ++i) add(Missing::kGuard, -1, i);
}

bool WhyNotExplainer::IsReached(const RuleCondition& condition, const Weakened& weakened) const {
  switch (condition.kind) {
    case Missing::kReader:
      return weakened.Reaches(rule_.rule().source.nodes[condition.node].inputs[condition.index]);
    case Missing::kRole:
    case Missing::kType:
      return weakened.is_tied[condition.index];
    case Missing::kShape:
      return weakened.is_typed[condition.index];
    case Missing::kGuard:
      return true;
    default:
      return weakened.number[condition.node] >= 0;
  }
}

bool WhyNotExplainer::Keeps(const Kept& kept, const RuleCondition& condition) const {
  const auto it = std::find(conditions_.begin(), conditions_.end(), condition);
  return it != conditions_.end() && kept[it - conditions_.begin()];
}

// Builds the nodes and variables that are reached, with the kept parts of the variables.
void WhyNotExplainer::WeakenVars(const Kept& kept, Weakened* weakened) const {
  const Substitution& whole = rule_.rule();
  std::vector<bool> reached(whole.source.nodes.size());
  reached[whole.source.outputs[0].node] = true;
  weakened->is_tied.resize(whole.vars.size());
  for (size_t c = 0; c < conditions_.size(); ++c) {
    const auto& [kind, node, index] = conditions_[c];
    if (!kept[c] || (kind != Missing::kOperand && kind != Missing::kReader)) continue;
    const PatternValue& value = whole.source.nodes[node].inputs[index];
    reached[node] = true;
    if (value.is_var()) {
      weakened->is_tied[value.index] = true;
    } else {
      reached[value.node] = true;
    }
  }
  int count = 0;
  for (bool is_reached : reached) weakened->number.push_back(is_reached ? count++ : -1);
  for (size_t v = 0; v < whole.vars.size(); ++v) {
    const int var = static_cast<int>(v);
    weakened->is_typed.push_back(Keeps(kept, {Missing::kType, -1, var}));
    if (!Keeps(kept, {Missing::kRole, -1, var})) weakened->rule.vars[v].role = VarRole::kAny;
    if (!Keeps(kept, {Missing::kShape, -1, var})) weakened->rule.vars[v].dims = weakened->Fresh();
  }
}

PatternNode WhyNotExplainer::WeakenNode(const Kept& kept, int number, Weakened* weakened) const {
  PatternNode node = rule_.rule().source.nodes[number];
  std::vector<std::pair<std::string, Term>> attrs;
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (Keeps(kept, {Missing::kAttribute, number, index})) attrs.push_back(node.attrs[i]);
  }
  node.attrs = std::move(attrs);
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    PatternValue& value = node.inputs[slot];
    const int index = static_cast<int>(slot);
    if (!Keeps(kept, {Missing::kOperand, number, index}) &&
        !Keeps(kept, {Missing::kReader, number, index})) {
      value = {-1, static_cast<int>(weakened->rule.vars.size())};
      weakened->rule.vars.push_back({});
    } else if (!value.is_var()) {
      value.node = weakened->number[value.node];
    }
  }
  if (node.op == nullptr && !Keeps(kept, {Missing::kConstant, number, kElements})) {
    node.fill = weakened->Fresh();
  }
  if (node.op == nullptr && !Keeps(kept, {Missing::kConstant, number, kDims})) {
    node.dims = weakened->Fresh();
  }
  return node;
}

const WhyNotExplainer::Weakened& WhyNotExplainer::Weaken(const Kept& kept) {
  std::unique_ptr<Weakened>& known = weakened_[kept];
  if (known != nullptr) return *known;
  known = std::make_unique<Weakened>();
  const Substitution& whole = rule_.rule();
  Substitution& rule = known->rule;
  rule.name = whole.name;
  rule.contract = whole.contract;
  rule.symbols = whole.symbols;
  rule.vars = whole.vars;
  WeakenVars(kept, known.get());
  for (size_t n = 0; n < whole.source.nodes.size(); ++n) {
    if (known->number[n] < 0) continue;
    rule.source.nodes.push_back(WeakenNode(kept, static_cast<int>(n), known.get()));
  }
  for (const PatternValue& output : whole.source.outputs) {
    if (known->number[output.node] < 0) continue;
    rule.source.outputs.push_back({known->number[output.node], output.index});
  }
  for (size_t i = 0; i < whole.where.size(); ++i) {
    if (Keeps(kept, {Missing::kGuard, -1, static_cast<int>(i)})) {
      rule.where.push_back(whole.where[i]);
    }
  }
  // The matcher reports one of two orders of interchangeable siblings, unless there is a
  // precondition. Here each sibling needs an answer.
  rule.where.push_back({Term(0), Relation::kEq, Term(0)});
  std::vector<bool> untyped = known->is_typed;
  untyped.flip();
  untyped.resize(rule.vars.size(), true);
  known->matcher = Matcher::Create(rule, std::move(untyped)).value();
  return *known;
}

std::vector<Binding> WhyNotExplainer::Matches(const MatchIndex& index, const Kept& kept, int anchor,
                                              size_t most) {
  const Weakened& weakened = Weaken(kept);
  std::vector<Binding> found;
  const int number = weakened.number[rule_.rule().source.outputs[0].node];
  weakened.matcher->ForEachAt(index, number, anchor, [&](const Binding& match) {
    found.push_back(match);
    return found.size() < most;
  });
  return found;
}

// The binding in the whole rule's numbers; -1 for what is not reached.
Binding WhyNotExplainer::InTheWhole(const Weakened& weakened, const Binding& part) const {
  const Substitution& rule = rule_.rule();
  Binding match = part;
  match.vars.resize(rule.vars.size());
  match.symbols.resize(rule.symbols.size());
  match.nodes.clear();
  for (int number : weakened.number) match.nodes.push_back(number < 0 ? -1 : part.nodes[number]);
  return match;
}

WhyNot WhyNotExplainer::Obstacle(const MatchIndex& index, const Binding& match) const {
  WhyNot answer;
  answer.held = static_cast<int>(conditions_.size());
  answer.only_obstacle = true;
  answer.at = match.anchor;
  const Substitution& rule = rule_.rule();
  if (rule_.matcher.Tangled(index, match)) {
    answer.missing = Missing::kTangled;
    answer.reason = "an operand is computed from an output, which the target would replace";
  } else if (!rule_.coverage.Covers(match.symbols, match.dtype)) {
    answer.missing = Missing::kCoverage;
    answer.reason = absl::StrCat("no form of its proof covers ", SymbolsText(rule, match.symbols));
  } else if (auto edit = EditOf(rule, index, match); !edit.ok()) {
    answer.missing = Missing::kTarget;
    answer.reason = std::string(edit.status().message());
  }
  return answer;
}

WhyNot WhyNotExplainer::Explain(const MatchIndex& index, int anchor) {
  std::optional<WhyNot> answer;
  for (const Binding& match :
       Matches(index, Kept(conditions_.size(), true), anchor, kMostMatches)) {
    WhyNot obstacle = Obstacle(index, match);
    if (!answer || (obstacle.missing == Missing::kNothing && answer->matches.empty())) {
      answer = obstacle;
    }
    if (obstacle.missing == Missing::kNothing) answer->matches.push_back(ToMatch(index, match));
  }
  if (answer) return *answer;

  const Pattern& source = rule_.rule().source;
  Kept kept(conditions_.size(), false);
  std::vector<Binding> best = Matches(index, kept, anchor, 1);
  WhyNot result;
  result.at = anchor;
  if (best.empty()) {
    result.missing = Missing::kOperator;
    result.reason = CountsText(source.nodes[source.outputs[0].node], index, anchor);
    return result;
  }
  // A condition kept later may make an earlier one hold, so failing conditions are tried again.
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t c = 0; c < conditions_.size(); ++c) {
      if (kept[c] || !IsReached(conditions_[c], Weaken(kept))) continue;
      kept[c] = true;
      std::vector<Binding> found = Matches(index, kept, anchor, 1);
      kept[c] = !found.empty();
      if (!kept[c]) continue;
      best = std::move(found);
      progress = true;
    }
  }
  const Weakened& weakened = Weaken(kept);
  size_t failing = 0;
  while (kept[failing] || !IsReached(conditions_[failing], weakened)) ++failing;
  const RuleCondition& condition = conditions_[failing];
  result.missing = condition.kind;
  result.held = static_cast<int>(std::count(kept.begin(), kept.end(), true));
  result.only_obstacle = result.held + 1 == static_cast<int>(kept.size());
  const Binding match = InTheWhole(weakened, best[0]);
  result.at = PlaceOf(rule_.rule(), match, condition);
  result.reason = ReasonText(rule_.rule(), index, match, condition);
  return result;
}

}  // namespace lemma
