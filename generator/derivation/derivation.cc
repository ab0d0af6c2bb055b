#include "generator/derivation/derivation.h"

#include <algorithm>

#include "generator/derivation/precedence.h"
#include "generator/sets/terms.h"

namespace lemma::generator {
namespace {

constexpr int kMostTermSize = 80;    // limit for a term that rewriting makes
constexpr int kMostNormalSize = 16;  // limit for a side of an equation between normal forms

}  // namespace

int Derivation::Add(const Pair& pair, DerivationOptions::Trust trust,
                    std::vector<DerivationStep> steps, std::vector<int> types) {
  const int number = Append(pair, trust, std::move(steps));
  known_[number].types = std::move(types);
  AddNormalForms(number);
  return number;
}

int Derivation::Append(const Pair& pair, DerivationOptions::Trust trust,
                       std::vector<DerivationStep> steps) {
  Known& known = known_.emplace_back();
  known.pair = pair;
  known.trust = trust;
  known.steps = std::move(steps);
  for (const NumberedGraph* side : {&pair.source, &pair.target}) {
    known.eliminates |= side->outputs.size() > 1 && side->ops.empty();
  }
  AddDirections(num_pairs() - 1);
  for (int i = 2 * trust; i < kNumOptions; ++i) ++epoch_[i];
  return num_pairs() - 1;
}

void Derivation::AddNormalForms(int pair) {
  const Known known = known_[pair];
  if (known.types.empty() || known.pair.source.outputs.size() != 1) return;
  const DerivationOptions options{known.trust, true};
  const int source = Intern(known.pair.source, known.types)[0];
  const int target = Intern(known.pair.target, known.types)[0];
  if (source == TermStore::kNone || target == TermStore::kNone) return;
  std::vector<DerivationStep> steps, rest;
  const int source_form = Trace(source, options, pair, true, &steps);
  const int target_form = Trace(target, options, pair, true, &rest);
  if (source_form == target_form || (source_form == source && target_form == target)) return;
  if (std::max(store_.node(source_form).size, store_.node(target_form).size) > kMostNormalSize) {
    return;
  }
  ReverseSteps(&steps);
  steps.push_back({pair, false});
  steps.insert(steps.end(), rest.begin(), rest.end());
  if (known.trust == DerivationOptions::kProved) {
    steps = Expanded(steps);
  } else {
    steps.clear();
  }
  const Pair normal = {store_.GraphOf(source_form), store_.GraphOf(target_form)};
  known_[Append(normal, known.trust, std::move(steps))].normal_of = pair;
}

void Derivation::SetDerived(int pair, std::vector<DerivationStep> steps) {
  known_[pair].steps = std::move(steps);
  for (Known& known : known_) {
    if (std::any_of(known.steps.begin(), known.steps.end(),
                    [&](const DerivationStep& step) { return step.pair == pair; })) {
      known.steps = Expanded(known.steps);
    }
  }
}

void Derivation::Clear() {
  store_.Clear();
  directions_.clear();
  by_root_.assign(store_.set().variants().size() * kMostOutputs, {});
  for (int i = 0; i < num_pairs(); ++i) AddDirections(i);
  for (int i = 0; i < kNumOptions; ++i) {
    memo_[i] = {};
    epoch_[i] = 1;
  }
}

bool Derivation::ChoosePrecedence() {
  std::vector<const Pair*> pairs;
  for (const Known& known : known_) {
    if (known.trust != DerivationOptions::kSuspected && known.normal_of < 0) {
      pairs.push_back(&known.pair);
    }
  }
  std::vector<int> precedence = PrecedenceOf(store_.set(), pairs);
  if (precedence == store_.precedence()) return false;
  store_.SetPrecedence(std::move(precedence));
  for (Known& known : known_) {
    if (known.normal_of >= 0) known.pair = {};
  }
  Clear();
  for (int i = 0, count = num_pairs(); i < count; ++i) AddNormalForms(i);
  return true;
}

int Derivation::PatternOf(const NumberedGraph& graph, int value) {
  if (value < 0) return store_.Variable(-1 - value);
  const NumberedOp& term = graph.ops[value / kMostOutputs];
  std::array<int, kMostOperands> operands = {TermStore::kNone, TermStore::kNone};
  for (size_t k = 0; k < term.operands.size(); ++k) {
    operands[k] = PatternOf(graph, term.operands[k]);
    if (operands[k] == TermStore::kNone) return TermStore::kNone;
  }
  const int node = store_.Make(term.variant, operands);
  return node == TermStore::kNone ? node : OutputValue(node, value % kMostOutputs);
}

void Derivation::AddDirections(int pair) {
  const Pair& known = known_[pair].pair;
  for (size_t o = 0; o < known.source.outputs.size(); ++o) {
    const std::array<int, 2> sides = {PatternOf(known.source, known.source.outputs[o]),
                                      PatternOf(known.target, known.target.outputs[o])};
    if (sides[0] == sides[1] || sides[0] == TermStore::kNone || sides[1] == TermStore::kNone) {
      continue;
    }
    std::vector<int> variables[2];
    CountInputs(known.source, known.source.outputs[o], &variables[0]);
    CountInputs(known.target, known.target.outputs[o], &variables[1]);
    const size_t most = std::max(variables[0].size(), variables[1].size());
    if (most > kMostVariables) continue;
    for (auto& counts : variables) counts.resize(most);
    for (int from = 0; from < 2; ++from) {
      const int to = 1 - from;
      const TermStore::Node& node = store_.node(sides[from]);
      if (node.variant < 0) continue;
      bool covers = true;
      for (size_t i = 0; i < most; ++i) covers &= variables[to][i] == 0 || variables[from][i] > 0;
      if (!covers) continue;
      Direction direction;
      direction.from = sides[from];
      direction.to = sides[to];
      direction.step = {pair, from == 1};
      direction.smaller = store_.Greater(sides[from], sides[to]);
      direction.normalizes = direction.smaller || !store_.Greater(sides[to], sides[from]);
      for (int k = 0; k < kMostOperands; ++k) {
        direction.below[k] = k < store_.NumOperands(node) ? store_.node(node.operands[k]).variant
                                                          : TermStore::kVariable;
      }
      by_root_[node.variant * kMostOutputs + sides[from] % kMostOutputs].push_back(
          static_cast<int>(directions_.size()));
      directions_.push_back(direction);
    }
  }
}

std::vector<int> Derivation::Intern(const NumberedGraph& graph, const std::vector<int>& types) {
  const std::vector<int> nodes = store_.NodesOf(graph, types);
  std::vector<int> outputs;
  for (int v : graph.outputs) outputs.push_back(store_.ValueOf(v, nodes, types));
  return outputs;
}

bool Derivation::IsUsable(int pair, const Run& run, bool elimination) const {
  const Known& known = known_[pair];
  if (pair == run.except || known.trust > run.options.trust) return false;
  if (known.eliminates && !elimination) return false;
  return std::none_of(known.steps.begin(), known.steps.end(),
                      [&](const DerivationStep& step) { return step.pair == run.except; });
}

bool Derivation::MayMatch(const Direction& direction, const TermStore::Node& node) const {
  auto fits = [&](int k, int l) {
    return direction.below[k] == TermStore::kVariable ||
           direction.below[k] == store_.node(node.operands[l]).variant;
  };
  const int n = store_.NumOperands(node);
  if (n == 0) return true;
  if (n == 1) return fits(0, 0);
  return (fits(0, 0) && fits(1, 1)) || (store_.IsCommutative(node) && fits(0, 1) && fits(1, 0));
}

// Calls done() for each match, with bound_ set, until done() accepts one.
template <class Done>
bool Derivation::Match(const Goal* goal, const Done& done) {
  if (goal == nullptr) return done();
  const TermStore::Node& pattern = store_.node(goal->pattern);
  if (pattern.variant == TermStore::kVariable) {
    int& binding = bound_[pattern.operands[0]];
    if (binding != TermStore::kNone) return binding == goal->value && Match(goal->next, done);
    binding = goal->value;
    if (Match(goal->next, done)) return true;
    binding = TermStore::kNone;
    return false;
  }
  const TermStore::Node& node = store_.node(goal->value);
  if (pattern.variant != node.variant ||
      goal->pattern % kMostOutputs != goal->value % kMostOutputs) {
    return false;
  }
  // Copies the operands, because done() may add nodes and invalidate references.
  const std::array<int, kMostOperands> p = pattern.operands, v = node.operands;
  const int n = store_.NumOperands(node);
  const bool commutative = store_.IsCommutative(node) && v[0] != v[1];
  if (n == 0) return goal->pattern == goal->value && Match(goal->next, done);
  if (n == 1) {
    const Goal only{p[0], v[0], goal->next};
    return Match(&only, done);
  }
  const Goal second{p[1], v[1], goal->next}, first{p[0], v[0], &second};
  if (Match(&first, done)) return true;
  if (!commutative) return false;
  const Goal other_second{p[1], v[0], goal->next}, other_first{p[0], v[1], &other_second};
  return Match(&other_first, done);
}

// The pattern with its variables replaced; kNone if that is not well-formed.
int Derivation::Replacement(int pattern) {
  const TermStore::Node node = store_.node(pattern);
  if (node.variant == TermStore::kVariable) return bound_[node.operands[0]];
  std::array<int, kMostOperands> operands = {TermStore::kNone, TermStore::kNone};
  const int n = store_.NumOperands(node);
  if (n == 0) return pattern;
  for (int k = 0; k < n; ++k) {
    operands[k] = Replacement(node.operands[k]);
    if (operands[k] == TermStore::kNone) return TermStore::kNone;
  }
  const int made = store_.Make(node.variant, operands);
  return made == TermStore::kNone ? made : OutputValue(made, pattern % kMostOutputs);
}

bool Derivation::SameDims(int a, int b) {
  return store_.TypeOf(a) == store_.TypeOf(b) || store_.DimsOf(a) == store_.DimsOf(b);
}

int Derivation::RewriteRoot(int value, bool elimination, Run* run) {
  const TermStore::Node node = store_.node(value);
  for (int number : by_root_[node.variant * kMostOutputs + value % kMostOutputs]) {
    const Direction& direction = directions_[number];
    if (!direction.normalizes || !MayMatch(direction, node) ||
        !IsUsable(direction.step.pair, *run, elimination)) {
      continue;
    }
    bound_.fill(TermStore::kNone);
    const Goal goal{direction.from, value, nullptr};
    int result = TermStore::kNone;
    const bool found = Match(&goal, [&] {
      result = Replacement(direction.to);
      return result != TermStore::kNone && SameDims(value, result) &&
             store_.node(result).size <= kMostTermSize &&
             (direction.smaller || store_.Greater(value, result));
    });
    if (!found) continue;
    if (run->trace != nullptr) run->trace->push_back(direction.step);
    return result;
  }
  return value;
}

int Derivation::Normalize(int value, Run* run) {
  const TermStore::Node node = store_.node(value);
  if (node.variant < 0) return value;
  if (run->trace != nullptr) {
    if (auto it = run->memo.find(value); it != run->memo.end()) return it->second;
  } else {
    const int number = NumberOf(run->options);
    const std::vector<Memo>& memo = memo_[number];
    if (static_cast<size_t>(value) < memo.size() && memo[value].epoch == epoch_[number]) {
      return memo[value].value;
    }
  }
  int result = value;
  if (!run->options.elimination && store_.set().variants()[node.variant].num_outputs > 1) {
    // First the term as it stands, before rewriting brings a split and a concat together.
    result = RewriteRoot(value, run->is_given_term, run);
    if (result != value) return Remember(value, Normalize(result, run), run);
  }
  std::array<int, kMostOperands> operands = node.operands;
  for (int k = 0; k < store_.NumOperands(node); ++k) operands[k] = Normalize(operands[k], run);
  if (operands != node.operands) {
    // The rewritten operand may not tell the split where to split.
    const int made = store_.Make(node.variant, operands);
    bool same = made != TermStore::kNone;
    for (int o = 0; same && o < store_.set().variants()[node.variant].num_outputs; ++o) {
      same = SameDims(OutputValue(value / kMostOutputs, o), OutputValue(made, o));
    }
    if (same) result = OutputValue(made, value % kMostOutputs);
  }
  const int rewritten = RewriteRoot(result, run->options.elimination, run);
  if (rewritten != result) result = Normalize(rewritten, run);
  return Remember(value, result, run);
}

int Derivation::Remember(int value, int form, Run* run) {
  if (run->trace != nullptr) {
    run->memo[value] = form;
    return form;
  }
  const int number = NumberOf(run->options);
  std::vector<Memo>& memo = memo_[number];
  if (memo.size() <= static_cast<size_t>(value)) {
    memo.resize(std::max<size_t>(kMostOutputs * store_.num_nodes(), memo.size() * 3 / 2));
  }
  memo[value] = {epoch_[number], form};
  return form;
}

int Derivation::NormalForm(int value, DerivationOptions options) {
  Run run;
  run.options = options;
  return Normalize(value, &run);
}

int Derivation::Trace(int value, DerivationOptions options, int except, bool is_given_term,
                      std::vector<DerivationStep>* trace) {
  Run run;
  run.options = options;
  run.except = except;
  run.is_given_term = is_given_term;
  run.trace = trace;
  return Normalize(value, &run);
}

bool Derivation::AreJoined(const std::vector<int>& source, const std::vector<int>& target,
                           DerivationOptions options) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (NormalForm(source[i], options) != NormalForm(target[i], options)) return false;
  }
  return true;
}

int Derivation::FirstSuspect(const std::vector<int>& source, const std::vector<int>& target,
                             DerivationOptions options) {
  std::vector<DerivationStep> trace;
  for (size_t i = 0; i < source.size(); ++i) {
    Trace(source[i], options, -1, true, &trace);
    Trace(target[i], options, -1, true, &trace);
  }
  for (const DerivationStep& step : trace) {
    const Known& known = known_[step.pair];
    if (known.trust != DerivationOptions::kProved) {
      return known.normal_of < 0 ? step.pair : known.normal_of;
    }
  }
  return -1;
}

void Derivation::ForEachNeighbor(int value, const Run& run,
                                 absl::FunctionRef<void(int, DerivationStep)> visit) {
  const TermStore::Node node = store_.node(value);
  if (node.variant < 0) return;
  for (int number : by_root_[node.variant * kMostOutputs + value % kMostOutputs]) {
    const Direction direction = directions_[number];
    if (!MayMatch(direction, node) ||
        !IsUsable(direction.step.pair, run, run.options.elimination)) {
      continue;
    }
    bound_.fill(TermStore::kNone);
    const Goal goal{direction.from, value, nullptr};
    std::vector<int> results;
    Match(&goal, [&] {
      const int result = Replacement(direction.to);
      if (result != TermStore::kNone && SameDims(value, result)) results.push_back(result);
      return false;
    });
    for (int result : results) visit(result, direction.step);
  }
  for (int k = 0; k < store_.NumOperands(node); ++k) {
    ForEachNeighbor(node.operands[k], run, [&](int operand, DerivationStep step) {
      std::array<int, kMostOperands> operands = node.operands;
      operands[k] = operand;
      const int made = store_.Make(node.variant, operands);
      if (made == TermStore::kNone) return;
      const int result = OutputValue(made, value % kMostOutputs);
      if (SameDims(value, result)) visit(result, step);
    });
  }
}

}  // namespace lemma::generator
