#include "optimizer/second_copies.h"

#include <algorithm>
#include <string>

#include "graph/barrier.h"
#include "graph/builder.h"

namespace lemma {
namespace {

class CopyBuilder {
 public:
  CopyBuilder(const Graph& graph, const absl::flat_hash_map<const Node*, int>& position,
              const std::vector<bool>& is_static, absl::Span<const CopiedNodes> units)
      : graph_(graph), position_(position), is_static_(is_static) {
    unit_of_.assign(graph.nodes().size(), -1);
    for (const CopiedNodes& unit : units) Join(unit);
    first_.resize(graph.nodes().size());
    second_.resize(graph.nodes().size());
    first_state_.assign(graph.nodes().size(), State::kNew);
    second_state_.assign(graph.nodes().size(), State::kNew);
  }

  std::optional<Graph> Run() {
    GraphBuilder builder(graph_.name());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      builder.Input(graph_.input_names()[i], graph_.inputs()[i].type());
    }
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const NodePtr node = First(static_cast<int>(n));
      if (node == nullptr) return std::nullopt;
      for (int k = 0; k < node->num_outputs(); ++k) {
        const absl::string_view label = graph_.LabelOf(Value(graph_.nodes()[n], k));
        if (!label.empty()) builder.Label(Value(node, k), std::string(label));
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value& v = graph_.outputs()[i];
      builder.Output(graph_.output_names()[i], Value(first_[position_.at(&v.node())], v.output()));
    }
    auto graph = std::move(builder).Build();
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

  absl::flat_hash_map<const Node*, CopyOf> Origins() const {
    absl::flat_hash_map<const Node*, CopyOf> origins;
    for (size_t n = 0; n < first_.size(); ++n) {
      if (second_[n] != nullptr) origins[second_[n].get()] = {static_cast<int>(n), true};
    }
    for (size_t n = 0; n < first_.size(); ++n) {
      if (first_[n] != nullptr) origins[first_[n].get()] = {static_cast<int>(n), false};
    }
    return origins;
  }

 private:
  enum class State { kNew, kOpen, kDone };

  // CopiedNodess that share a node become one.
  void Join(const CopiedNodes& unit) {
    CopiedNodes all = unit;
    for (size_t u = 0; u < units_.size(); ++u) {
      const bool shares = std::any_of(unit.nodes.begin(), unit.nodes.end(),
                                      [&](int n) { return unit_of_[n] == static_cast<int>(u); });
      if (!shares) continue;
      all.nodes.insert(units_[u].nodes.begin(), units_[u].nodes.end());
      all.late.insert(units_[u].late.begin(), units_[u].late.end());
      if (units_[u].token_time < all.token_time) {
        all.token = units_[u].token;
        all.token_time = units_[u].token_time;
      }
      units_[u] = CopiedNodes();
    }
    for (int n : all.nodes) unit_of_[n] = static_cast<int>(units_.size());
    units_.push_back(std::move(all));
  }

  NodePtr First(int n) {
    if (first_state_[n] == State::kDone) return first_[n];
    if (first_state_[n] == State::kOpen) return nullptr;
    first_state_[n] = State::kOpen;
    const NodePtr& node = graph_.nodes()[n];
    NodePtr made = node;
    if (node->is_op()) {
      std::vector<Value> inputs;
      for (const Value& v : node->inputs()) {
        const int o = position_.at(&v.node());
        const int unit = unit_of_[o];
        const bool late = unit >= 0 && units_[unit].late.count({o, n}) > 0;
        const NodePtr operand = late ? Second(o) : First(o);
        if (operand == nullptr) return nullptr;
        inputs.emplace_back(operand, v.output());
      }
      made = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
    }
    first_state_[n] = State::kDone;
    return first_[n] = made;
  }

  NodePtr Second(int n) {
    if (second_state_[n] == State::kDone) return second_[n];
    if (second_state_[n] == State::kOpen) return nullptr;
    second_state_[n] = State::kOpen;
    const NodePtr& node = graph_.nodes()[n];
    const CopiedNodes& unit = units_[unit_of_[n]];
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) {
      const int o = position_.at(&v.node());
      if (unit_of_[o] == unit_of_[n]) {
        const NodePtr operand = Second(o);
        if (operand == nullptr) return nullptr;
        inputs.emplace_back(operand, v.output());
        continue;
      }
      const NodePtr operand = First(o);
      const NodePtr token = First(unit.token);
      if (operand == nullptr || token == nullptr) return nullptr;
      Value value(operand, v.output());
      if (!is_static_[o]) value = Barrier(value, Value(token, 0));
      inputs.push_back(std::move(value));
    }
    second_state_[n] = State::kDone;
    return second_[n] = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
  }

  const Graph& graph_;
  const absl::flat_hash_map<const Node*, int>& position_;
  const std::vector<bool>& is_static_;
  std::vector<CopiedNodes> units_;
  std::vector<int> unit_of_;  // by node; -1: computed once
  std::vector<NodePtr> first_, second_;
  std::vector<State> first_state_, second_state_;
};

}  // namespace

std::optional<CopiedGraph> WithSecondCopies(const Graph& graph,
                                            const absl::flat_hash_map<const Node*, int>& position,
                                            const std::vector<bool>& is_static,
                                            absl::Span<const CopiedNodes> units) {
  CopyBuilder builder(graph, position, is_static, units);
  auto copied = builder.Run();
  if (!copied) return std::nullopt;
  return CopiedGraph{*std::move(copied), builder.Origins()};
}

}  // namespace lemma
