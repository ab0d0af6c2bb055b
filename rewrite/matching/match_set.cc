#include "rewrite/matching/match_set.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/held_numbers.h"

namespace lemma {

absl::StatusOr<Edit> EditOf(const Substitution& rule, const MatchView& view, const Binding& match) {
  // The target is built over placeholders for the operands: it depends on their types alone, so
  // matches of equal types share it.
  std::vector<Value> stand_ins;
  for (size_t i = 0; i < match.vars.size(); ++i) {
    const ValueRef& v = match.vars[i];
    const TensorType& type = view.Head(v.node).type(v.output);
    if (MayBeEmpty(type.shape)) {
      return absl::FailedPreconditionError(
          absl::StrCat("rule ", rule.name, ": not proved for an empty operand"));
    }
    stand_ins.emplace_back(Node::Input(static_cast<int>(i), type), 0);
  }
  std::vector<NodePtr> heads;
  auto outputs = BuildPattern(rule, rule.target, stand_ins, match.symbols, match.dtype, &heads);
  absl::Status status = outputs.status();
  if (status.ok()) status = CheckNumbers(rule.target, heads, match.symbols);
  if (!status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("rule ", rule.name, ": ", status.message()));
  }
  auto ref = [&](const PatternValue& v) {
    return v.is_var() ? match.vars[v.index] : ValueRef{~v.node, v.index};
  };
  Edit edit;
  for (size_t n = 0; n < heads.size(); ++n) {
    EditNode node{heads[n], {}};
    for (const PatternValue& input : rule.target.nodes[n].inputs)
      node.operands.push_back(ref(input));
    edit.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const PatternValue& output = rule.source.outputs[i];
    const ValueRef from{match.nodes[output.node], output.index};
    if (view.Head(from.node).type(from.output) != (*outputs)[i].type()) {
      return absl::FailedPreconditionError(
          absl::StrCat("rule ", rule.name, ": a value would change its type"));
    }
    edit.replaced.emplace_back(from, ref(rule.target.outputs[i]));
  }
  return edit;
}

MatchedEditPtr MatchedEditOf(const PreparedRule& rule, const MatchView& view,
                             const Binding& match) {
  if (rule.fixed != nullptr) {
    for (int node : match.nodes) {
      if (rule.fixed->contains(&view.Head(node))) return nullptr;
    }
  }
  if (!rule.coverage.Covers(match.symbols, match.dtype)) return nullptr;
  auto edit = EditOf(rule.rule(), view, match);
  if (!edit.ok()) return nullptr;
  return std::make_shared<MatchedEdit>(MatchedEdit{&rule, match, *std::move(edit)});
}

MatchSet::MatchSet(RuleIndexPtr rules, const EditGraph* graph)
    : graph_(graph), rules_(std::move(rules)) {
  std::vector<RuleIndex::Start> starts;
  for (int node = 0; node < graph->num_nodes(); ++node) {
    if (!graph->IsLive(node) || !graph->Head(node).is_op()) continue;
    rules_->AnchorsAt(*graph_, node, &starts);
    work_ += 1 + static_cast<int64_t>(starts.size());
    for (const RuleIndex::Start& start : starts) {
      const PreparedRule& rule = *rules_->rules()[start.rule];
      rule.matcher.ForEachAt(*graph_, start.number, node, [&](const Binding& match) {
        Found(rule, match);
        return true;
      });
    }
  }
  log_.clear();
}

void MatchSet::Found(const PreparedRule& rule, const Binding& match) {
  MatchedEditPtr matched = MatchedEditOf(rule, *graph_, match);
  if (matched == nullptr) return;
  const int number = size();
  by_node_.resize(std::max<size_t>(by_node_.size(), graph_->num_nodes()));
  for (int node : match.nodes) by_node_[node].push_back(number);
  entries_.push_back({std::move(matched), true});
  log_.push_back(kAdded);
}

void MatchSet::Update(size_t graph_mark) {
  const std::vector<int> touched = graph_->TouchedSince(graph_mark);
  by_node_.resize(std::max<size_t>(by_node_.size(), graph_->num_nodes()));
  for (int node : touched) {
    for (int number : by_node_[node]) {
      if (!entries_[number].alive) continue;
      entries_[number].alive = false;
      log_.push_back(number);
    }
  }
  // A match that binds several touched nodes is found once from each.
  using Key = std::pair<const PreparedRule*, std::vector<int>>;
  absl::flat_hash_set<Key> seen;
  std::vector<RuleIndex::Start> starts;
  for (int node : touched) {
    if (!graph_->IsLive(node) || !graph_->Head(node).is_op()) continue;
    rules_->StartsAt(*graph_, node, &starts);
    work_ += 1 + static_cast<int64_t>(starts.size());
    for (const RuleIndex::Start& start : starts) {
      const PreparedRule& rule = *rules_->rules()[start.rule];
      rule.matcher.ForEachAt(*graph_, start.number, node, [&](const Binding& match) {
        Key key{&rule, match.nodes};
        for (const ValueRef& v : match.vars) {
          key.second.push_back(v.node);
          key.second.push_back(v.output);
        }
        if (seen.insert(std::move(key)).second) Found(rule, match);
        return true;
      });
    }
  }
}

void MatchSet::UndoTo(size_t mark) {
  while (log_.size() > mark) {
    const int number = log_.back();
    log_.pop_back();
    if (number != kAdded) {
      entries_[number].alive = true;
      continue;
    }
    for (int node : entries_.back().matched->match.nodes) by_node_[node].pop_back();
    entries_.pop_back();
  }
}

}  // namespace lemma
