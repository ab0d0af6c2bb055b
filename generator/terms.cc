#include "generator/terms.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"

namespace lemma::generator {
namespace {

constexpr int kUnbound = 1 << 30;
constexpr int kNamingRounds = 3;

// Rebuilds what its outputs need.
class Normalizer {
 public:
  Normalizer(const OperatorSet& set, const TermGraph& graph)
      : set_(set), graph_(graph), state_(graph.ops.size(), kNew), place_(graph.ops.size(), 0) {}

  std::optional<TermGraph> Run() {
    for (int v : graph_.outputs) result_.outputs.push_back(Visit(v));
    if (cyclic_) return std::nullopt;
    return std::move(result_);
  }

 private:
  enum State { kNew, kOpen, kDone };

  int Visit(int value) {
    if (value < 0 || cyclic_) return value;
    const int op = value / kMostOutputs;
    if (state_[op] == kOpen) {
      cyclic_ = true;
      return value;
    }
    if (state_[op] == kNew) {
      state_[op] = kOpen;
      Term term = graph_.ops[op];
      for (int& v : term.operands) v = Visit(v);
      if (cyclic_) return value;
      if (set_.instances()[term.instance].commutative) Order(&term.operands);
      auto [it, added] = made_.emplace(term, static_cast<int>(result_.ops.size()));
      if (added) result_.ops.push_back(term);
      place_[op] = it->second;
      state_[op] = kDone;
    }
    return OutputValue(place_[op], value % kMostOutputs);
  }

  // By what is computed, so that the order does not depend on that of the operators.
  void Order(std::vector<int>* operands) {
    if ((*operands)[0] == (*operands)[1]) return;
    TermGraph a = result_, b = result_;
    a.outputs = {(*operands)[0]};
    b.outputs = {(*operands)[1]};
    if (ToString(set_, b, Names::kVariables) < ToString(set_, a, Names::kVariables))
      std::swap((*operands)[0], (*operands)[1]);
  }

  const OperatorSet& set_;
  const TermGraph& graph_;
  TermGraph result_;
  std::vector<State> state_;
  std::vector<int> place_;
  std::map<Term, int> made_;
  bool cyclic_ = false;
};

// A rule's source found in a graph.
class Rewriter {
 public:
  Rewriter(const OperatorSet& set, const TermGraph& graph, const Pair& rule,
           absl::FunctionRef<void(const TermGraph&)> visit)
      : set_(set), graph_(graph), rule_(rule), visit_(visit) {
    chosen_.assign(rule.source.ops.size(), -1);
    int variables = 0;
    for (const TermGraph* side : {&rule.source, &rule.target}) {
      for (const Term& term : side->ops) {
        for (int v : term.operands) variables = std::max(variables, -v);
      }
      for (int v : side->outputs) variables = std::max(variables, -v);
    }
    bound_.assign(variables, kUnbound);
  }

  void Run() {
    if (!rule_.source.ops.empty()) MatchOp(static_cast<int>(rule_.source.ops.size()) - 1);
  }

 private:
  // Users before operands: what an operator's results have to be is known when it is reached.
  void MatchOp(int op) {
    if (op < 0) return Replace();
    const Term& pattern = rule_.source.ops[op];
    const int wanted = chosen_[op];
    for (int i = 0; i < static_cast<int>(graph_.ops.size()); ++i) {
      if (wanted >= 0 && i != wanted) continue;
      const Term& term = graph_.ops[i];
      if (term.instance != pattern.instance) continue;
      MatchOperands(op, i, pattern.operands, term.operands);
      if (set_.instances()[term.instance].commutative && term.operands[0] != term.operands[1]) {
        MatchOperands(op, i, pattern.operands, {term.operands[1], term.operands[0]});
      }
    }
  }

  void MatchOperands(int op, int found, const std::vector<int>& pattern,
                     const std::vector<int>& operands) {
    const std::vector<int> chosen = chosen_, bound = bound_;
    chosen_[op] = found;
    bool fits = true;
    for (size_t k = 0; k < pattern.size() && fits; ++k) {
      const int p = pattern[k], v = operands[k];
      if (p < 0) {
        int& binding = bound_[-1 - p];
        fits = binding == kUnbound || binding == v;
        binding = v;
      } else {
        int& node = chosen_[p / kMostOutputs];
        fits = v >= 0 && v % kMostOutputs == p % kMostOutputs &&
               (node < 0 || node == v / kMostOutputs);
        if (fits) node = v / kMostOutputs;
      }
    }
    if (fits) MatchOp(op - 1);
    chosen_ = chosen;
    bound_ = bound;
  }

  void Replace() {
    TermGraph result = graph_;
    const int base = static_cast<int>(graph_.ops.size());
    auto value_of = [&](int v) {
      if (v < 0) return bound_[-1 - v];
      return OutputValue(base + v / kMostOutputs, v % kMostOutputs);
    };
    for (const Term& term : rule_.target.ops) {
      Term made = term;
      for (int& v : made.operands) {
        v = value_of(v);
        if (v == kUnbound) return;
      }
      result.ops.push_back(std::move(made));
    }
    std::map<int, int> replaced;
    for (size_t i = 0; i < rule_.source.outputs.size(); ++i) {
      const int v = rule_.source.outputs[i];
      if (v < 0) continue;
      const int to = value_of(rule_.target.outputs[i]);
      if (to == kUnbound) return;
      replaced[OutputValue(chosen_[v / kMostOutputs], v % kMostOutputs)] = to;
    }
    auto moved = [&](int v) {
      // A target's output may be a variable that is replaced itself.
      for (size_t i = 0; i <= replaced.size(); ++i) {
        auto it = replaced.find(v);
        if (it == replaced.end()) break;
        v = it->second;
      }
      return v;
    };
    for (Term& term : result.ops) {
      for (int& v : term.operands) v = moved(v);
    }
    for (int& v : result.outputs) v = moved(v);
    if (auto normalized = Normalized(set_, result)) visit_(*normalized);
  }

  const OperatorSet& set_;
  const TermGraph& graph_;
  const Pair& rule_;
  absl::FunctionRef<void(const TermGraph&)> visit_;
  std::vector<int> chosen_;  // the graph's operator of each of the source's
  std::vector<int> bound_;   // of variables
};

std::string AppendText(const TermGraph& graph, int value, bool names) {
  if (value < 0) return names ? absl::StrCat(-value) : "_";
  const Term& term = graph.ops[value / kMostOutputs];
  std::string text = absl::StrCat(term.instance, "(");
  for (int v : term.operands) absl::StrAppend(&text, AppendText(graph, v, names), ",");
  return absl::StrCat(text, ").", value % kMostOutputs);
}

}  // namespace

void RemoveUnread(TermGraph* graph) {
  std::vector<bool> read(graph->ops.size(), false);
  for (int v : graph->outputs) {
    if (v >= 0) read[v / kMostOutputs] = true;
  }
  for (size_t i = graph->ops.size(); i-- > 0;) {
    if (!read[i]) continue;
    for (int v : graph->ops[i].operands) {
      if (v >= 0) read[v / kMostOutputs] = true;
    }
  }
  std::vector<int> place(graph->ops.size(), 0);
  std::vector<Term> ops;
  auto moved = [&](int v) {
    return v < 0 ? v : OutputValue(place[v / kMostOutputs], v % kMostOutputs);
  };
  for (size_t i = 0; i < graph->ops.size(); ++i) {
    if (!read[i]) continue;
    place[i] = static_cast<int>(ops.size());
    ops.push_back(graph->ops[i]);
    for (int& v : ops.back().operands) v = moved(v);
  }
  for (int& v : graph->outputs) v = moved(v);
  graph->ops = std::move(ops);
}

std::optional<TermGraph> Normalized(const OperatorSet& set, const TermGraph& graph) {
  return Normalizer(set, graph).Run();
}

std::string KeyOf(const OperatorSet& set, const TermGraph& graph) {
  auto normalized = Normalized(set, graph);
  if (!normalized) return "cyclic";
  std::string key;
  for (int v : normalized->outputs) absl::StrAppend(&key, AppendText(*normalized, v, true), ";");
  return key;
}

NamedPair WithoutNames(const OperatorSet& set, const Pair& pair) {
  // Outputs by their structure.
  std::vector<std::pair<std::string, int>> order;
  for (size_t i = 0; i < pair.source.outputs.size(); ++i) {
    order.emplace_back(absl::StrCat(AppendText(pair.source, pair.source.outputs[i], false), "=",
                                    AppendText(pair.target, pair.target.outputs[i], false)),
                       static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Pair sorted = pair;
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.source.outputs[i] = pair.source.outputs[order[i].second];
    sorted.target.outputs[i] = pair.target.outputs[order[i].second];
  }
  NamedPair result;
  // Both exist: they are subgraphs of graphs.
  result.pair.source = *Normalized(set, sorted.source);
  result.pair.target = *Normalized(set, sorted.target);
  // The order of operands depends on names, and names on that order: a few rounds settle both.
  for (int round = 0; round < kNamingRounds; ++round) {
    std::map<int, int> names;
    auto rename_all = [&](TermGraph* graph) {
      auto rename = [&](int* v) {
        if (*v < 0) *v = -1 - names.emplace(*v, static_cast<int>(names.size())).first->second;
      };
      for (Term& term : graph->ops) {
        for (int& v : term.operands) rename(&v);
      }
      for (int& v : graph->outputs) rename(&v);
      *graph = *Normalized(set, *graph);
    };
    rename_all(&result.pair.source);
    const size_t of_source = names.size();
    rename_all(&result.pair.target);
    result.num_variables = static_cast<int>(names.size());
    result.covers = names.size() == of_source;
  }
  for (const TermGraph* side : {&result.pair.source, &result.pair.target}) {
    for (int v : side->outputs) absl::StrAppend(&result.key, AppendText(*side, v, true), ";");
    result.key += "=>";
  }
  return result;
}

void ForEachRewrite(const OperatorSet& set, const TermGraph& graph, const Pair& rule,
                    absl::FunctionRef<void(const TermGraph&)> visit) {
  Rewriter(set, graph, rule, visit).Run();
}

}  // namespace lemma::generator
