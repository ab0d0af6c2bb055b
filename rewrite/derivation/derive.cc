#include "rewrite/derivation/derive.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "rewrite/derivation/typings.h"
#include "rewrite/matching/apply.h"

namespace lemma {
namespace {

// Whether applications from `source` to `target` can be searched. The reader of rules checks this
// only for the rule's own direction.
bool IsMatchable(const Substitution& rule) {
  std::vector<bool> occurs(rule.vars.size());
  for (const PatternNode& node : rule.source.nodes) {
    for (const PatternValue& input : node.inputs) {
      if (input.is_var()) occurs[input.index] = true;
    }
  }
  return std::find(occurs.begin(), occurs.end(), false) == occurs.end() &&
         std::all_of(rule.source.outputs.begin(), rule.source.outputs.end(),
                     [&](const PatternValue& output) {
                       return !output.is_var() && rule.source.nodes[output.node].op != nullptr;
                     });
}

bool AllKnown(const SymbolValues& symbols) {
  return std::all_of(symbols.begin(), symbols.end(),
                     [](const auto& value) { return value.has_value(); });
}

}  // namespace

Graph WithOperandsInOrder(const Graph& graph) {
  absl::flat_hash_map<const Node*, NodePtr> renewed;
  auto successor = [&](const Value& value) {
    return Value(renewed.at(&value.node()), value.output());
  };
  for (const NodePtr& node : graph.nodes()) {
    NodePtr& result = renewed[node.get()] = node;
    if (!node->is_op()) continue;
    std::vector<Value> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(successor(input));
    if (node->op().commutative && inputs.size() >= 2 && inputs[1].hash() < inputs[0].hash()) {
      std::swap(inputs[0], inputs[1]);
    }
    result = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
  }
  std::vector<Value> outputs;
  for (const Value& output : graph.outputs()) outputs.push_back(successor(output));
  return graph.WithOutputs(std::move(outputs));
}

Deriver::Deriver(std::vector<Substitution> rules) : rules_(std::move(rules)) {
  for (Substitution& rule : rules_) {
    for (PatternVar& var : rule.vars) var.role = VarRole::kAny;
    coverage_.push_back(std::make_unique<Coverage>(rule));
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    Add(static_cast<int>(i), false);
    Add(static_cast<int>(i), true);
  }
}

void Deriver::Add(int number, bool backward) {
  auto direction = std::make_unique<Direction>(number, backward, rules_[number]);
  Substitution& rule = direction->rule;
  if (backward) std::swap(rule.source, rule.target);
  if (!IsMatchable(rule)) return;
  auto matcher = Matcher::Create(rule);
  if (!matcher.ok()) return;
  direction->matcher = *std::move(matcher);
  by_op_[&direction->matcher->anchor_op()].push_back(direction.get());
  directions_[{number, backward}] = std::move(direction);
}

bool Deriver::CanApply(int rule, bool backward) const {
  return directions_.count({rule, backward}) > 0;
}

void Deriver::ForEachApplication(const Direction& direction, const MatchIndex& index, int anchor,
                                 absl::FunctionRef<void(Graph)> visit) const {
  direction.matcher->ForEach(index, anchor, [&](const Match& match) {
    if (!AllKnown(match.symbols)) return true;
    if (!coverage_[direction.number]->Covers(match.symbols, match.dtype)) return true;
    auto result = Apply(direction.rule, match, index);
    if (result.ok()) visit(WithOperandsInOrder(*result));
    return true;
  });
}

void Deriver::ForEachNeighbor(const Graph& graph, const std::set<int>& without,
                              absl::FunctionRef<void(Graph, int, bool)> visit) const {
  const MatchIndex index(graph);
  for (int anchor = 0; anchor < index.num_nodes(); ++anchor) {
    if (!index.node(anchor)->is_op()) continue;
    auto it = by_op_.find(&index.node(anchor)->op());
    if (it == by_op_.end()) continue;
    for (const Direction* direction : it->second) {
      if (without.count(direction->number) > 0) continue;
      ForEachApplication(*direction, index, anchor, [&](Graph result) {
        visit(std::move(result), direction->number, direction->backward);
      });
    }
  }
}

// The graphs reached from one end, and how each was reached.
class Deriver::Search {
 public:
  struct Seen {
    Graph graph;
    int parent = -1;
    int rule = -1;  // applied to the parent's graph
    bool backward = false;
  };
  explicit Search(Graph start) { Add({std::move(start)}); }

  bool Add(Seen seen) {
    if (!numbers_.emplace(seen.graph.outputs(), static_cast<int>(all_.size())).second) return false;
    all_.push_back(std::move(seen));
    return true;
  }
  int Find(const Graph& graph) const {
    auto it = numbers_.find(graph.outputs());
    return it == numbers_.end() ? -1 : it->second;
  }
  const Seen& operator[](int i) const { return all_[i]; }
  int size() const { return static_cast<int>(all_.size()); }
  // The first graph of the level that was reached last.
  int level_begin() const { return level_begin_; }
  int level_size() const { return size() - level_begin_; }
  void BeginLevel() { level_begin_ = size(); }

 private:
  std::vector<Seen> all_;
  // By hash-consing, graphs with equal outputs are equal.
  absl::flat_hash_map<std::vector<Value>, int> numbers_;
  int level_begin_ = 0;
};

absl::StatusOr<DeriveResult> Deriver::Derive(const Graph& source, const Graph& target,
                                             const DeriveLimits& limits) const {
  if (source.inputs() != target.inputs() || source.outputs().size() != target.outputs().size()) {
    return absl::InvalidArgumentError("the graphs differ in their inputs or numbers of outputs");
  }
  Search ends[2] = {Search(WithOperandsInOrder(source)), Search(WithOperandsInOrder(target))};
  const int most_ops =
      std::max(ends[0][0].graph.num_ops(), ends[1][0].graph.num_ops()) + limits.extra_ops;
  DeriveResult result;
  // The numbers of the graph where both ends meet.
  std::optional<std::pair<int, int>> meeting;
  if (int same = ends[1].Find(ends[0][0].graph); same >= 0) meeting = {0, same};
  auto graphs = [&] { return int64_t{ends[0].size()} + ends[1].size(); };
  while (!meeting && result.steps < limits.max_steps && graphs() < limits.max_graphs) {
    const int sizes[2] = {ends[0].level_size(), ends[1].level_size()};
    if (sizes[0] == 0 && sizes[1] == 0) {
      result.exhausted = true;
      break;
    }
    const int side = sizes[0] == 0 || (sizes[1] != 0 && sizes[1] < sizes[0]) ? 1 : 0;
    Search &here = ends[side], &there = ends[1 - side];
    const int begin = here.level_begin(), end = here.size();
    here.BeginLevel();
    bool cut = false;
    for (int i = begin; i < end && !meeting && !cut; ++i) {
      const Graph graph = here[i].graph;  // `here` grows
      ForEachNeighbor(graph, limits.without, [&](Graph next, int rule, bool backward) {
        cut = graphs() >= limits.max_graphs;
        if (meeting || cut || next.num_ops() > most_ops) return;
        const int other = there.Find(next);
        if (!here.Add({std::move(next), i, rule, backward})) return;
        if (other < 0) return;
        const int mine = here.size() - 1;
        meeting = side == 0 ? std::pair(mine, other) : std::pair(other, mine);
      });
    }
    if (cut && !meeting) break;
    // Only a level with graphs makes chains longer.
    if (here.level_size() > 0 || meeting) ++result.steps;
  }
  result.graphs = graphs();
  if (!meeting) return result;
  Derivation derivation;
  derivation.source = ends[0][0].graph;
  for (int i = meeting->first; ends[0][i].parent >= 0; i = ends[0][i].parent) {
    const Search::Seen& seen = ends[0][i];
    derivation.steps.push_back({seen.rule, seen.backward, seen.graph});
  }
  std::reverse(derivation.steps.begin(), derivation.steps.end());
  for (int i = meeting->second; ends[1][i].parent >= 0; i = ends[1][i].parent) {
    const Search::Seen& seen = ends[1][i];
    derivation.steps.push_back({seen.rule, !seen.backward, ends[1][seen.parent].graph});
  }
  result.derivation = std::move(derivation);
  return result;
}

absl::Status Deriver::Check(const Derivation& derivation) const {
  const Graph* before = &derivation.source;
  for (size_t i = 0; i < derivation.steps.size(); ++i) {
    const DerivationStep& step = derivation.steps[i];
    // The step may have been found from its result, in the other direction.
    bool found = false;
    for (bool reversed : {false, true}) {
      auto it = directions_.find({step.rule, step.backward != reversed});
      if (it == directions_.end()) continue;
      const Graph &from = reversed ? step.graph : *before, &to = reversed ? *before : step.graph;
      const MatchIndex index(from);
      for (int anchor = 0; anchor < index.num_nodes() && !found; ++anchor) {
        ForEachApplication(*it->second, index, anchor, [&](const Graph& result) {
          found = found || result.outputs() == to.outputs();
        });
      }
    }
    if (!found) {
      return absl::FailedPreconditionError(absl::StrCat(
          "step ", i + 1, " is no application of ",
          step.rule < 0 || step.rule >= static_cast<int>(rules_.size()) ? "any rule"
                                                                        : rules_[step.rule].name));
    }
    before = &step.graph;
  }
  return absl::OkStatus();
}

absl::StatusOr<RuleDerivation> DeriveRule(const Deriver& deriver, const Substitution& rule,
                                          const DeriveLimits& limits, int typings) {
  RuleDerivation derivation;
  for (Assignment& assignment : DistinctTypings(rule, typings)) {
    LEMMA_ASSIGN_OR_RETURN(Graph source, Instantiate(rule, rule.source, assignment));
    LEMMA_ASSIGN_OR_RETURN(Graph target, Instantiate(rule, rule.target, assignment));
    LEMMA_ASSIGN_OR_RETURN(DeriveResult result, deriver.Derive(source, target, limits));
    derivation.typings.push_back({std::move(assignment), std::move(result)});
    if (!derivation.found()) break;
  }
  if (derivation.typings.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rule ", rule.name, ": no sizes were found at which it is well-formed"));
  }
  return derivation;
}

bool AreTheSame(const Substitution& a, const Substitution& b) {
  DeriveLimits one_step;
  one_step.max_steps = 1;
  auto follows = [&](const Substitution& rule, const Substitution& from) {
    auto derivation = DeriveRule(Deriver({from}), rule, one_step);
    return derivation.ok() && derivation->found();
  };
  return follows(a, b) && follows(b, a);
}

std::string Summary(const Deriver& deriver, const Derivation& derivation) {
  const size_t n = derivation.steps.size();
  if (n == 0) return "no step: both sides are one graph";
  return absl::StrCat(
      n, n == 1 ? " step: " : " steps: ",
      absl::StrJoin(derivation.steps, ", ", [&](std::string* out, const DerivationStep& step) {
        absl::StrAppend(out, deriver.rules()[step.rule].name, step.backward ? " backward" : "");
      }));
}

std::string NotFound(const DeriveResult& result) {
  if (result.exhausted) {
    return absl::StrCat("not derivable: no further graph can be reached (", result.graphs,
                        " seen from both sides)");
  }
  return absl::StrCat("not found within ", result.graphs, " graphs; chains of up to ", result.steps,
                      result.steps == 1 ? " step" : " steps", " were tried");
}

FloatContract ContractOf(const Deriver& deriver, const Derivation& derivation) {
  FloatContract contract = FloatContract::kBitExact;
  for (const DerivationStep& step : derivation.steps) {
    contract = std::max(contract, deriver.rules()[step.rule].contract);
  }
  return contract;
}

}  // namespace lemma
