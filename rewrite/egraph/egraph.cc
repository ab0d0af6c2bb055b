#include "rewrite/egraph/egraph.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "graph/sizes/specialize.h"

namespace lemma {

EGraph::EGraph(const Graph& graph, std::function<bool(const Node&)> may_fold)
    : may_fold_(std::move(may_fold)) {
  std::vector<ValueRef> outputs;
  for (const EditNode& node : EditNodesOf(graph, &outputs)) Add(node.head, node.operands, -1);
  outputs_ = std::move(outputs);
  num_originals_ = num_nodes();
  Rebuild();
}

std::vector<ValueRef> EGraph::outputs() const {
  std::vector<ValueRef> result;
  for (const ValueRef& v : outputs_) result.push_back(Canonical(v));
  return result;
}

std::vector<int> EGraph::NodesOf(const Graph& graph) const {
  std::vector<ValueRef> outputs;
  std::vector<int> numbers;
  for (const EditNode& node : EditNodesOf(graph, &outputs)) {
    absl::InlinedVector<ValueRef, 4> operands;
    for (const ValueRef& v : node.operands) {
      if (numbers[v.node] >= 0) operands.push_back({numbers[v.node], v.output});
    }
    const bool is_known = operands.size() == node.operands.size();
    numbers.push_back(is_known ? FindEqual(*node.head, ContentHash(*node.head), operands) : -1);
  }
  return numbers;
}

int EGraph::LiveNode(int node) const {
  while (slots_[node].merged_into >= 0) node = slots_[node].merged_into;
  return node;
}

int EGraph::Root(int value) const {
  while (parent_[value] != value) value = parent_[value];
  return value;
}

uint64_t EGraph::KeyOf(uint64_t content, absl::Span<const ValueRef> operands) const {
  uint64_t key = content;
  for (const ValueRef& v : operands) {
    key = HashCombine(key, static_cast<uint64_t>(Root(NumberOf(v))));
  }
  return key;
}

int EGraph::FindEqual(const Node& head, uint64_t content,
                      absl::Span<const ValueRef> operands) const {
  auto entry = by_key_.find(KeyOf(content, operands));
  if (entry == by_key_.end()) return -1;
  for (int node : entry->second) {
    const Slot& slot = slots_[node];
    if (slot.content == content && SameContent(*slot.head, head) &&
        std::equal(operands.begin(), operands.end(), slot.operands.begin(), slot.operands.end(),
                   [&](const ValueRef& a, const ValueRef& b) {
                     return Root(NumberOf(a)) == Root(NumberOf(b));
                   })) {
      return node;
    }
  }
  return -1;
}

int EGraph::Add(const NodePtr& head, absl::Span<const ValueRef> operands, int creator) {
  const int node = num_nodes();
  Slot& slot = slots_.emplace_back();
  slot.head = head;
  slot.operands.assign(operands.begin(), operands.end());
  slot.content = ContentHash(*head);
  slot.first_value = static_cast<int>(parent_.size());
  slot.creator = creator;
  for (int k = 0; k < head->num_outputs(); ++k) {
    parent_.push_back(static_cast<int>(parent_.size()));
    classes_.emplace_back().values.push_back({node, k});
  }
  by_key_[KeyOf(slot.content, slot.operands)].push_back(node);
  ++num_live_;
  return node;
}

bool EGraph::Unite(ValueRef a, ValueRef b) {
  int x = Root(NumberOf(a)), y = Root(NumberOf(b));
  if (x == y) return false;
  if (classes_[x].values.size() < classes_[y].values.size()) std::swap(x, y);
  parent_[y] = x;
  auto& from = classes_[y].values;
  classes_[x].values.insert(classes_[x].values.end(), from.begin(), from.end());
  from.clear();
  return true;
}

bool EGraph::Apply(MatchedEditPtr matched, std::vector<int>* made_nodes) {
  const int number = static_cast<int>(applied_matches_.size());
  AppliedMatch applied{std::move(matched), {}};
  auto resolve = [&](ValueRef v) {
    return v.node >= 0 ? v : ValueRef{applied.made[~v.node], v.output};
  };
  bool is_new = false;
  for (const EditNode& node : applied.matched->edit.nodes) {
    absl::InlinedVector<ValueRef, 4> operands;
    for (const ValueRef& v : node.operands) operands.push_back(resolve(v));
    int made = FindEqual(*node.head, ContentHash(*node.head), operands);
    if (made < 0) {
      made = Add(node.head, operands, number);
      is_new = true;
    }
    applied.made.push_back(made);
  }
  for (const auto& [from, to] : applied.matched->edit.replaced) {
    if (Unite(from, resolve(to))) is_new = true;
  }
  if (made_nodes != nullptr) *made_nodes = applied.made;
  if (is_new) applied_matches_.push_back(std::move(applied));
  return is_new;
}

// One pass over all nodes; returns whether classes were united.
bool EGraph::MergeEqualNodes() {
  bool united = false;
  by_key_.clear();
  for (int n = 0; n < num_nodes(); ++n) {
    Slot& slot = slots_[n];
    if (slot.merged_into >= 0) continue;
    const int equal = FindEqual(*slot.head, slot.content, slot.operands);
    if (equal < 0) {
      by_key_[KeyOf(slot.content, slot.operands)].push_back(n);
      continue;
    }
    slot.merged_into = equal;
    --num_live_;
    for (int k = 0; k < slot.head->num_outputs(); ++k) {
      if (Unite({n, k}, {equal, k})) united = true;
    }
  }
  return united;
}

void EGraph::Rebuild() {
  while (MergeEqualNodes()) {
  }
  SetFlags();
  SetClasses();
}

// A value is known if one way of computing it is.
void EGraph::SetFlags() {
  std::vector<Flags> of_class(classes_.size(), Flags::kNone);
  for (bool changed = true; changed;) {
    changed = false;
    for (Slot& slot : slots_) {
      if (slot.merged_into >= 0) continue;
      const Node& head = *slot.head;
      Flags flags = Flags::kFolded;
      if (head.kind() == Node::Kind::kInput || IsSymbolic(head)) {
        flags = Flags::kNone;
      } else if (!head.is_op()) {
        flags = !head.is_finite()     ? Flags::kNone
                : !head.has_payload() ? Flags::kStatic
                : may_fold_           ? Flags::kFolded
                                      : Flags::kKnown;
      }
      for (const ValueRef& v : slot.operands) {
        flags = std::min(flags, of_class[Root(NumberOf(v))]);
      }
      if (flags == Flags::kFolded && head.is_op() && !(may_fold_ && may_fold_(head))) {
        flags = Flags::kKnown;
      }
      slot.flags = flags;
      for (int k = 0; k < head.num_outputs(); ++k) {
        Flags& known = of_class[Root(slot.first_value + k)];
        if (known >= flags) continue;
        known = flags;
        changed = true;
      }
    }
  }
}

void EGraph::SetClasses() {
  for (Class& c : classes_) {
    c.values.clear();
    c.uses.clear();
  }
  for (int n = 0; n < num_nodes(); ++n) {
    if (!IsLive(n)) continue;
    for (int k = 0; k < Head(n).num_outputs(); ++k) class_({n, k}).values.push_back({n, k});
  }
  // A value with the highest flags represents the class.
  for (Class& c : classes_) {
    auto best = std::max_element(c.values.begin(), c.values.end(),
                                 [&](const ValueRef& a, const ValueRef& b) {
                                   return slots_[a.node].flags < slots_[b.node].flags;
                                 });
    if (best != c.values.end()) std::rotate(c.values.begin(), best, best + 1);
  }
  for (int n = 0; n < num_nodes(); ++n) {
    if (!IsLive(n)) continue;
    auto& operands = slots_[n].operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      operands[i] = Canonical(operands[i]);
      class_(operands[i]).uses.push_back({n, static_cast<int>(i)});
    }
  }
}

}  // namespace lemma
