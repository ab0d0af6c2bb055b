#include "rewrite/matching/match_index.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/sizes/specialize.h"

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
  operand_begin_.reserve(n + 1);
  for (int i = 0; i < n; ++i) {
    operand_begin_.push_back(static_cast<int>(operands_.size()));
    bool is_static =
        node(i)->kind() != Node::Kind::kInput && node(i)->is_finite() && !IsSymbolic(*node(i));
    bool is_known = node(i)->is_op() || node(i)->has_payload();
    for (const Value& input : node(i)->inputs()) {
      const ValueRef operand{PositionOf(input.node()), input.output()};
      operands_.push_back(operand);
      is_static = is_static && is_static_[operand.node];
      is_known = is_known && is_known_[operand.node];
      ++use_begin_[ValueId(operand) + 1];
    }
    is_static_[i] = is_static;
    is_known_[i] = is_known && is_static;
  }
  operand_begin_.push_back(static_cast<int>(operands_.size()));
  for (int v = 0; v < num_values; ++v) use_begin_[v + 1] += use_begin_[v];
  uses_.resize(use_begin_.back());
  std::vector<int> next(use_begin_.begin(), use_begin_.end() - 1);
  for (int i = 0; i < n; ++i) {
    const auto operands = Operands(i);
    for (size_t slot = 0; slot < operands.size(); ++slot) {
      uses_[next[ValueId(operands[slot])]++] = {i, static_cast<int>(slot)};
    }
  }
}

int MatchIndex::PositionOf(const Node& node) const {
  auto it = positions_.find(&node);
  return it == positions_.end() ? -1 : it->second;
}

absl::Span<const ValueRef> MatchIndex::Operands(int position) const {
  const int begin = operand_begin_[position];
  return absl::MakeConstSpan(operands_).subspan(begin, operand_begin_[position + 1] - begin);
}

absl::Span<const MatchIndex::Use> MatchIndex::Users(ValueRef value) const {
  const int id = ValueId(value);
  return absl::MakeConstSpan(uses_).subspan(use_begin_[id], use_begin_[id + 1] - use_begin_[id]);
}

bool MatchIndex::Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const {
  const int first = *std::min_element(roots.begin(), roots.end());
  std::vector<int> pending;
  absl::flat_hash_set<int> seen;
  for (const ValueRef& v : values) pending.push_back(v.node);
  while (!pending.empty()) {
    const int position = pending.back();
    pending.pop_back();
    if (position < first || !seen.insert(position).second) continue;
    if (std::find(roots.begin(), roots.end(), position) != roots.end()) return true;
    for (const ValueRef& operand : Operands(position)) pending.push_back(operand.node);
  }
  return false;
}

absl::Span<const int> MatchIndex::ApplicationsOf(const OpDef& op) const {
  auto it = applications_.find(&op);
  if (it == applications_.end()) return {};
  return it->second;
}

}  // namespace lemma
