#include "rewrite/match_index.h"

namespace lemma {

MatchIndex::MatchIndex(const Graph& graph) : graph_(graph) {
  const int n = num_nodes();
  positions_.reserve(n);
  first_value_.reserve(n);
  is_static_.resize(n);
  is_known_.resize(n);
  int num_values = 0;
  for (int i = 0; i < n; ++i) {
    positions_.emplace(node(i).get(), i);
    first_value_.push_back(num_values);
    num_values += node(i)->num_outputs();
    if (node(i)->is_op()) applications_[&node(i)->op()].push_back(i);
  }
  use_begin_.assign(num_values + 1, 0);
  for (int i = 0; i < n; ++i) {
    bool is_static = node(i)->kind() != Node::Kind::kInput;
    bool is_known = node(i)->is_op() || node(i)->has_payload();
    for (const Value& input : node(i)->inputs()) {
      int position = PositionOf(input.node());
      is_static = is_static && is_static_[position];
      is_known = is_known && is_known_[position];
      ++use_begin_[first_value_[position] + input.output() + 1];
    }
    is_static_[i] = is_static;
    is_known_[i] = is_known;
  }
  for (int v = 0; v < num_values; ++v) use_begin_[v + 1] += use_begin_[v];
  uses_.resize(use_begin_.back());
  std::vector<int> next(use_begin_.begin(), use_begin_.end() - 1);
  for (int i = 0; i < n; ++i) {
    const std::vector<Value>& inputs = node(i)->inputs();
    for (size_t slot = 0; slot < inputs.size(); ++slot) {
      uses_[next[ValueId(inputs[slot])]++] = {i, static_cast<int>(slot)};
    }
  }
}

int MatchIndex::PositionOf(const Node& node) const {
  auto it = positions_.find(&node);
  return it == positions_.end() ? -1 : it->second;
}

int MatchIndex::ValueId(const Value& value) const {
  return first_value_[PositionOf(value.node())] + value.output();
}

absl::Span<const MatchIndex::Use> MatchIndex::UsesOf(const Value& value) const {
  int id = ValueId(value);
  return absl::MakeConstSpan(uses_).subspan(use_begin_[id], use_begin_[id + 1] - use_begin_[id]);
}

absl::Span<const int> MatchIndex::ApplicationsOf(const OpDef& op) const {
  auto it = applications_.find(&op);
  if (it == applications_.end()) return {};
  return it->second;
}

}  // namespace lemma
