#include "generator/sets/terms.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"

namespace lemma::generator {
namespace {

constexpr int kNamingRounds = 3;

// Rebuilds the operators that the outputs need.
class Normalizer {
 public:
  Normalizer(const OperatorSet& set, const NumberedGraph& graph)
      : set_(set), graph_(graph), state_(graph.ops.size(), kNew), place_(graph.ops.size(), 0) {}

  std::optional<NumberedGraph> Run() {
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
      NumberedOp term = graph_.ops[op];
      for (int& v : term.operands) v = Visit(v);
      if (cyclic_) return value;
      if (set_.variants()[term.variant].commutative) Order(&term.operands);
      auto [it, added] = made_.emplace(term, static_cast<int>(result_.ops.size()));
      if (added) result_.ops.push_back(term);
      place_[op] = it->second;
      state_[op] = kDone;
    }
    return OutputValue(place_[op], value % kMostOutputs);
  }

  // Sorts by structure, so that the order does not depend on that of the operators.
  void Order(std::vector<int>* operands) {
    if ((*operands)[0] == (*operands)[1]) return;
    NumberedGraph a = result_, b = result_;
    a.outputs = {(*operands)[0]};
    b.outputs = {(*operands)[1]};
    if (ToString(set_, b, Names::kVariables) < ToString(set_, a, Names::kVariables))
      std::swap((*operands)[0], (*operands)[1]);
  }

  const OperatorSet& set_;
  const NumberedGraph& graph_;
  NumberedGraph result_;
  std::vector<State> state_;
  std::vector<int> place_;
  std::map<NumberedOp, int> made_;
  bool cyclic_ = false;
};

std::string AppendText(const NumberedGraph& graph, int value, bool names) {
  if (value < 0) return names ? absl::StrCat(-value) : "_";
  const NumberedOp& term = graph.ops[value / kMostOutputs];
  std::string text = absl::StrCat(term.variant, "(");
  for (int v : term.operands) absl::StrAppend(&text, AppendText(graph, v, names), ",");
  return absl::StrCat(text, ").", value % kMostOutputs);
}

}  // namespace

void RemoveUnread(NumberedGraph* graph) {
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
  std::vector<NumberedOp> ops;
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

void CountInputs(const NumberedGraph& graph, int value, std::vector<int>* counts) {
  if (value < 0) {
    if (counts->size() < static_cast<size_t>(-value)) counts->resize(-value);
    ++(*counts)[-1 - value];
    return;
  }
  for (int v : graph.ops[value / kMostOutputs].operands) CountInputs(graph, v, counts);
}

std::optional<NumberedGraph> Normalized(const OperatorSet& set, const NumberedGraph& graph) {
  return Normalizer(set, graph).Run();
}

NamedPair WithoutNames(const OperatorSet& set, const Pair& pair) {
  // Sorts outputs by their structure.
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
  // The order of operands depends on names, and names on that order; a few rounds settle both.
  for (int round = 0; round < kNamingRounds; ++round) {
    std::map<int, int> names;
    auto rename_all = [&](NumberedGraph* graph) {
      auto rename = [&](int* v) {
        if (*v < 0) *v = -1 - names.emplace(*v, static_cast<int>(names.size())).first->second;
      };
      for (NumberedOp& term : graph->ops) {
        for (int& v : term.operands) rename(&v);
      }
      for (int& v : graph->outputs) rename(&v);
      *graph = *Normalized(set, *graph);
    };
    rename_all(&result.pair.source);
    const size_t of_source = names.size();
    rename_all(&result.pair.target);
    result.num_variables = static_cast<int>(names.size());
    std::vector<int> inputs(names.size());
    for (const auto& [old_name, name] : names) {
      inputs[name] = round == 0 ? old_name : result.inputs[-1 - old_name];
    }
    result.inputs = std::move(inputs);
    result.covers = names.size() == of_source;
  }
  for (const NumberedGraph* side : {&result.pair.source, &result.pair.target}) {
    for (int v : side->outputs) absl::StrAppend(&result.key, AppendText(*side, v, true), ";");
    result.key += "=>";
  }
  return result;
}

}  // namespace lemma::generator
