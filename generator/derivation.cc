#include "generator/derivation.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/container/flat_hash_set.h"

namespace lemma::generator {
namespace {

constexpr int kMostTermSize = 80;        // of a term that rewriting makes
constexpr size_t kMostNeighbours = 400;  // of a term, that are looked at

void CountVariables(const TermGraph& graph, int value, std::vector<int>* counts) {
  if (value < 0) {
    if (counts->size() < static_cast<size_t>(-value)) counts->resize(-value);
    ++(*counts)[-1 - value];
    return;
  }
  for (int v : graph.ops[value / kMostOutputs].operands) CountVariables(graph, v, counts);
}

void CountOps(const TermGraph& graph, int value, std::vector<int>* counts) {
  if (value < 0) return;
  const Term& term = graph.ops[value / kMostOutputs];
  ++(*counts)[term.instance];
  for (int v : term.operands) CountOps(graph, v, counts);
}

void Reverse(std::vector<DerivationStep>* steps) {
  std::reverse(steps->begin(), steps->end());
  for (DerivationStep& step : *steps) step.backward = !step.backward;
}

}  // namespace

int Derivation::Add(const Pair& pair, Means::Trust trust, std::vector<DerivationStep> steps) {
  Known& known = known_.emplace_back();
  known.pair = pair;
  known.trust = trust;
  known.steps = std::move(steps);
  for (const TermGraph* side : {&pair.source, &pair.target}) {
    known.eliminates |= side->outputs.size() > 1 && side->ops.empty();
  }
  AddDirections(num_pairs() - 1);
  for (int i = 2 * trust; i < kNumMeans; ++i) ++epoch_[i];
  return num_pairs() - 1;
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
  by_root_.assign(store_.set().instances().size() * kMostOutputs, {});
  for (int i = 0; i < num_pairs(); ++i) AddDirections(i);
  for (int i = 0; i < kNumMeans; ++i) {
    memo_[i] = {};
    epoch_[i] = 1;
  }
}

// f before g if a pair makes g of f's results out of f of g's results: f(g(x, y)) = g(f(x), f(y)).
// An instance that is written in others comes before them.
bool Derivation::ChoosePrecedence() {
  const int n = static_cast<int>(store_.set().instances().size());
  std::vector<std::vector<int>> votes(n, std::vector<int>(n, 0));
  std::vector<int> counts[2], variables[2];
  for (const Known& known : known_) {
    if (known.trust == Means::kSuspected) continue;
    for (size_t o = 0; o < known.pair.source.outputs.size(); ++o) {
      const std::pair<const TermGraph*, int> sides[] = {
          {&known.pair.source, known.pair.source.outputs[o]},
          {&known.pair.target, known.pair.target.outputs[o]}};
      int sizes[2];
      for (int s = 0; s < 2; ++s) {
        counts[s].assign(n, 0);
        variables[s].clear();
        CountOps(*sides[s].first, sides[s].second, &counts[s]);
        CountVariables(*sides[s].first, sides[s].second, &variables[s]);
        sizes[s] = std::accumulate(counts[s].begin(), counts[s].end(), 0);
      }
      if (sizes[0] == sizes[1]) continue;
      const int small = sizes[0] < sizes[1] ? 0 : 1, large = 1 - small;
      if (sides[small].second < 0) continue;
      const int f = sides[small].first->ops[sides[small].second / kMostOutputs].instance;
      const int g = sides[large].first->ops[sides[large].second / kMostOutputs].instance;
      const bool linear = std::all_of(variables[small].begin(), variables[small].end(),
                                      [](int count) { return count <= 1; });
      if (!linear) continue;
      if (sizes[small] == 1 && counts[large][f] == 0) {
        for (int i = 0; i < n; ++i) {
          if (counts[large][i] > 0) ++votes[f][i];
        }
      } else if (f != g && counts[large][f] > 0 && counts[small][g] > 0) {
        ++votes[f][g];
      }
    }
  }
  // The one that wins over what is left, constants last.
  std::vector<int> precedence(n, 0);
  std::vector<bool> placed(n, false);
  for (int place = n; place-- > 0;) {
    int best = -1;
    std::array<int, 4> best_score = {};
    for (int i = 0; i < n; ++i) {
      if (placed[i]) continue;
      int won = 0, lost = 0;
      for (int j = 0; j < n; ++j) {
        if (placed[j] || i == j) continue;
        won += votes[i][j] > votes[j][i];
        lost += votes[j][i] > votes[i][j];
      }
      const Instance& instance = store_.set().instances()[i];
      const std::array<int, 4> score = {instance.num_operands > 0, -lost, won, -i};
      if (best < 0 || score > best_score) {
        best = i;
        best_score = score;
      }
    }
    placed[best] = true;
    precedence[best] = place;
  }
  if (precedence == store_.precedence()) return false;
  store_.SetPrecedence(std::move(precedence));
  Clear();
  return true;
}

int Derivation::PatternOf(const TermGraph& graph, int value) {
  if (value < 0) return store_.Variable(-1 - value);
  const Term& term = graph.ops[value / kMostOutputs];
  std::array<int, kMostOperands> operands = {TermStore::kNone, TermStore::kNone};
  for (size_t k = 0; k < term.operands.size(); ++k) {
    operands[k] = PatternOf(graph, term.operands[k]);
    if (operands[k] == TermStore::kNone) return TermStore::kNone;
  }
  const int node = store_.Make(term.instance, operands);
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
    CountVariables(known.source, known.source.outputs[o], &variables[0]);
    CountVariables(known.target, known.target.outputs[o], &variables[1]);
    const size_t most = std::max(variables[0].size(), variables[1].size());
    if (most > kMostVariables) continue;
    for (auto& counts : variables) counts.resize(most);
    for (int from = 0; from < 2; ++from) {
      const int to = 1 - from;
      const TermStore::Node& node = store_.node(sides[from]);
      if (node.instance < 0) continue;
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
        direction.below[k] = k < store_.NumOperands(node) ? store_.node(node.operands[k]).instance
                                                          : TermStore::kVariable;
      }
      by_root_[node.instance * kMostOutputs + sides[from] % kMostOutputs].push_back(
          static_cast<int>(directions_.size()));
      directions_.push_back(direction);
    }
  }
}

std::vector<int> Derivation::Intern(const TermGraph& graph, const std::vector<int>& types) {
  std::vector<int> nodes;
  auto value_of = [&](int v) {
    if (v < 0) return store_.Input(-1 - v, types[-1 - v]);
    const int node = nodes[v / kMostOutputs];
    return node == TermStore::kNone ? node : OutputValue(node, v % kMostOutputs);
  };
  for (const Term& term : graph.ops) {
    std::array<int, kMostOperands> operands = {TermStore::kNone, TermStore::kNone};
    bool there = true;
    for (size_t k = 0; k < term.operands.size(); ++k) {
      operands[k] = value_of(term.operands[k]);
      there &= operands[k] != TermStore::kNone;
    }
    nodes.push_back(there ? store_.Make(term.instance, operands) : TermStore::kNone);
  }
  std::vector<int> outputs;
  for (int v : graph.outputs) outputs.push_back(value_of(v));
  return outputs;
}

bool Derivation::IsUsable(int pair, const Run& run, bool elimination) const {
  const Known& known = known_[pair];
  if (pair == run.except || known.trust > run.means.trust) return false;
  if (known.eliminates && !elimination) return false;
  return std::none_of(known.steps.begin(), known.steps.end(),
                      [&](const DerivationStep& step) { return step.pair == run.except; });
}

bool Derivation::MayMatch(const Direction& direction, const TermStore::Node& node) const {
  auto fits = [&](int k, int l) {
    return direction.below[k] == TermStore::kVariable ||
           direction.below[k] == store_.node(node.operands[l]).instance;
  };
  const int n = store_.NumOperands(node);
  if (n == 0) return true;
  if (n == 1) return fits(0, 0);
  return (fits(0, 0) && fits(1, 1)) || (store_.IsCommutative(node) && fits(0, 1) && fits(1, 0));
}

// Calls done() for matches, with bound_, until it says that this is the one.
template <class Done>
bool Derivation::Match(const Goal* goal, const Done& done) {
  if (goal == nullptr) return done();
  const TermStore::Node& pattern = store_.node(goal->pattern);
  if (pattern.instance == TermStore::kVariable) {
    int& binding = bound_[pattern.operands[0]];
    if (binding != TermStore::kNone) return binding == goal->value && Match(goal->next, done);
    binding = goal->value;
    if (Match(goal->next, done)) return true;
    binding = TermStore::kNone;
    return false;
  }
  const TermStore::Node& node = store_.node(goal->value);
  if (pattern.instance != node.instance ||
      goal->pattern % kMostOutputs != goal->value % kMostOutputs) {
    return false;
  }
  // done() may make nodes, so none is referred to after it.
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

// The pattern with variables replaced; kNone if it is not well-formed.
int Derivation::Replacement(int pattern) {
  const TermStore::Node node = store_.node(pattern);
  if (node.instance == TermStore::kVariable) return bound_[node.operands[0]];
  std::array<int, kMostOperands> operands = {TermStore::kNone, TermStore::kNone};
  const int n = store_.NumOperands(node);
  if (n == 0) return pattern;
  for (int k = 0; k < n; ++k) {
    operands[k] = Replacement(node.operands[k]);
    if (operands[k] == TermStore::kNone) return TermStore::kNone;
  }
  const int made = store_.Make(node.instance, operands);
  return made == TermStore::kNone ? made : OutputValue(made, pattern % kMostOutputs);
}

bool Derivation::SameDims(int a, int b) {
  return store_.TypeOf(a) == store_.TypeOf(b) || store_.DimsOf(a) == store_.DimsOf(b);
}

int Derivation::RewriteRoot(int value, bool elimination, Run* run) {
  const TermStore::Node node = store_.node(value);
  for (int number : by_root_[node.instance * kMostOutputs + value % kMostOutputs]) {
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
  if (node.instance < 0) return value;
  if (run->trace != nullptr) {
    if (auto it = run->memo.find(value); it != run->memo.end()) return it->second;
  } else {
    const int means = NumberOf(run->means);
    const std::vector<Memo>& memo = memo_[means];
    if (static_cast<size_t>(value) < memo.size() && memo[value].epoch == epoch_[means]) {
      return memo[value].value;
    }
  }
  int result = value;
  if (!run->means.elimination && store_.set().instances()[node.instance].num_outputs > 1) {
    // As it stands, before rewriting brings anything together.
    result = RewriteRoot(value, run->as_given, run);
    if (result != value) return Remember(value, Normalize(result, run), run);
  }
  std::array<int, kMostOperands> operands = node.operands;
  for (int k = 0; k < store_.NumOperands(node); ++k) operands[k] = Normalize(operands[k], run);
  if (operands != node.operands) {
    // A split may not know any more where its operand was put together.
    const int made = store_.Make(node.instance, operands);
    bool same = made != TermStore::kNone;
    for (int o = 0; same && o < store_.set().instances()[node.instance].num_outputs; ++o) {
      same = SameDims(OutputValue(value / kMostOutputs, o), OutputValue(made, o));
    }
    if (same) result = OutputValue(made, value % kMostOutputs);
  }
  const int rewritten = RewriteRoot(result, run->means.elimination, run);
  if (rewritten != result) result = Normalize(rewritten, run);
  return Remember(value, result, run);
}

int Derivation::Remember(int value, int form, Run* run) {
  if (run->trace != nullptr) {
    run->memo[value] = form;
    return form;
  }
  const int means = NumberOf(run->means);
  std::vector<Memo>& memo = memo_[means];
  if (memo.size() <= static_cast<size_t>(value)) {
    memo.resize(std::max<size_t>(kMostOutputs * store_.num_nodes(), memo.size() * 3 / 2));
  }
  memo[value] = {epoch_[means], form};
  return form;
}

int Derivation::NormalForm(int value, Means means) {
  Run run;
  run.means = means;
  return Normalize(value, &run);
}

int Derivation::Trace(int value, Means means, int except, bool as_given,
                      std::vector<DerivationStep>* trace) {
  Run run;
  run.means = means;
  run.except = except;
  run.as_given = as_given;
  run.trace = trace;
  return Normalize(value, &run);
}

bool Derivation::AreJoined(const std::vector<int>& source, const std::vector<int>& target,
                           Means means) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (NormalForm(source[i], means) != NormalForm(target[i], means)) return false;
  }
  return true;
}

int Derivation::FirstSuspect(const std::vector<int>& source, const std::vector<int>& target,
                             Means means) {
  std::vector<DerivationStep> trace;
  for (size_t i = 0; i < source.size(); ++i) {
    Trace(source[i], means, -1, true, &trace);
    Trace(target[i], means, -1, true, &trace);
  }
  for (const DerivationStep& step : trace) {
    if (known_[step.pair].trust != Means::kProved) return step.pair;
  }
  return -1;
}

void Derivation::ForEachNeighbour(int value, const Run& run,
                                  absl::FunctionRef<void(int, DerivationStep)> visit) {
  const TermStore::Node node = store_.node(value);
  if (node.instance < 0) return;
  for (int number : by_root_[node.instance * kMostOutputs + value % kMostOutputs]) {
    const Direction direction = directions_[number];
    if (!MayMatch(direction, node) || !IsUsable(direction.step.pair, run, run.means.elimination)) {
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
    ForEachNeighbour(node.operands[k], run, [&](int operand, DerivationStep step) {
      std::array<int, kMostOperands> operands = node.operands;
      operands[k] = operand;
      const int made = store_.Make(node.instance, operands);
      if (made == TermStore::kNone) return;
      const int result = OutputValue(made, value % kMostOutputs);
      if (SameDims(value, result)) visit(result, step);
    });
  }
}

bool Derivation::DeriveOne(int source, int target, Means means, int except,
                           std::vector<DerivationStep>* steps) {
  auto finish = [&](int from, std::optional<DerivationStep> first, int to,
                    std::optional<DerivationStep> last) {
    if (first) steps->push_back(*first);
    Trace(from, means, except, !first, steps);
    std::vector<DerivationStep> back;
    if (last) back.push_back(*last);
    Trace(to, means, except, !last, &back);
    Reverse(&back);
    steps->insert(steps->end(), back.begin(), back.end());
    return true;
  };
  std::vector<DerivationStep> ignored;
  const int source_form = Trace(source, means, except, true, &ignored);
  const int target_form = Trace(target, means, except, true, &ignored);
  if (source_form == target_form) return finish(source, {}, target, {});
  Run run;
  run.means = means;
  run.except = except;
  struct Near {
    int value;
    std::optional<DerivationStep> step;
  };
  // Normal forms near one side, and how they were reached.
  auto near = [&](int value, int form) {
    std::vector<std::pair<int, DerivationStep>> found;
    ForEachNeighbour(value, run, [&](int result, DerivationStep step) {
      if (found.size() < kMostNeighbours) found.emplace_back(result, step);
    });
    absl::flat_hash_map<int, Near> forms;
    forms.emplace(form, Near{value, {}});
    for (const auto& [result, step] : found) {
      const int normal = except < 0 && means.elimination
                             ? NormalForm(result, means)
                             : Trace(result, means, except, false, &ignored);
      forms.emplace(normal, Near{result, step});
    }
    return forms;
  };
  const auto near_source = near(source, source_form);
  if (auto it = near_source.find(target_form); it != near_source.end()) {
    return finish(it->second.value, it->second.step, target, {});
  }
  const auto near_target = near(target, target_form);
  // The smallest, so that the result does not depend on the order of a hash table.
  int best = TermStore::kNone;
  for (const auto& [form, place] : near_target) {
    if (near_source.contains(form) && (best == TermStore::kNone || form < best)) best = form;
  }
  if (best == TermStore::kNone) return false;
  const Near &a = near_source.at(best), &b = near_target.at(best);
  return finish(a.value, a.step, b.value, b.step);
}

std::optional<std::vector<DerivationStep>> Derivation::Derive(const std::vector<int>& source,
                                                              const std::vector<int>& target,
                                                              Means means, int except) {
  std::vector<DerivationStep> steps;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != target[i] && !DeriveOne(source[i], target[i], means, except, &steps)) {
      return std::nullopt;
    }
  }
  return Expanded(steps);
}

std::vector<DerivationStep> Derivation::Expanded(const std::vector<DerivationStep>& steps) const {
  std::vector<DerivationStep> result;
  for (const DerivationStep& step : steps) {
    const Known& known = known_[step.pair];
    if (known.steps.empty()) {
      result.push_back(step);
      continue;
    }
    std::vector<DerivationStep> inner = Expanded(known.steps);
    if (step.backward) Reverse(&inner);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

}  // namespace lemma::generator
