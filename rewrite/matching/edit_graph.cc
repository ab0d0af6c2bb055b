#include "rewrite/matching/edit_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "graph/sizes/specialize.h"
#include "rewrite/matching/topological_order.h"

namespace lemma {
namespace {

using OperandList = absl::InlinedVector<ValueRef, 4>;

// Initial distance between ranks: leaves room for nodes inserted between neighbors.
constexpr int64_t kRankStep = 1024;

}  // namespace

uint64_t ContentHash(const Node& head) {
  if (!head.is_op()) return head.hash();
  uint64_t h = head.operator_hash();
  for (const TensorType& type : head.types()) h = HashCombine(h, type.Hash());
  return h;
}

bool SameContent(const Node& a, const Node& b) {
  if (&a == &b) return true;
  return a.is_op() && b.is_op() && &a.op() == &b.op() && a.types() == b.types() &&
         SameAttrs(a.attrs(), b.attrs());
}

std::vector<EditNode> EditNodesOf(const Graph& graph, std::vector<ValueRef>* outputs) {
  std::vector<EditNode> nodes;
  absl::flat_hash_map<const Node*, int> numbers;
  auto ref = [&](const Value& v) { return ValueRef{numbers.at(&v.node()), v.output()}; };
  for (const NodePtr& node : graph.nodes()) {
    EditNode added{node, {}};
    for (const Value& v : node->inputs()) added.operands.push_back(ref(v));
    numbers[node.get()] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(added));
  }
  for (const Value& v : graph.outputs()) outputs->push_back(ref(v));
  return nodes;
}

EditGraph::EditGraph(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
                     EditGraphOptions options)
    : options_(std::move(options)) {
  for (const EditNode& node : nodes) {
    slots_[Add(node.head, node.operands)].rank = num_nodes() * kRankStep;
  }
  for (const ValueRef& output : outputs) {
    ++value_(output).outputs;
    outputs_.push_back(output);
    CountOutput(outputs_.size() - 1, 1);
  }
  log_.clear();
}

EditGraph::EditGraph(const Graph& graph, EditGraphOptions options)
    : options_(std::move(options)), origin_(graph) {
  std::vector<ValueRef> outputs;
  for (const EditNode& node : EditNodesOf(graph, &outputs)) {
    slots_[Add(node.head, node.operands)].rank = num_nodes() * kRankStep;
  }
  for (int n = 0; n < num_nodes(); ++n) {
    for (int k = 0; k < Head(n).num_outputs(); ++k) {
      auto label = origin_.labels().find({graph.nodes()[n]->hash(), k});
      if (label != origin_.labels().end()) value_({n, k}).label = &label->second;
    }
  }
  for (const ValueRef& output : outputs) {
    ++value_(output).outputs;
    outputs_.push_back(output);
    CountOutput(outputs_.size() - 1, 1);
  }
  log_.clear();
}

// ---- Derived data that is kept up to date ----

uint64_t EditGraph::KeyOf(uint64_t content, absl::Span<const ValueRef> operands) const {
  uint64_t key = content;
  for (const ValueRef& v : operands) {
    key = HashCombine(key, (static_cast<uint64_t>(v.node) << 8) + static_cast<uint64_t>(v.output));
  }
  return key;
}

uint64_t EditGraph::ShareOf(const Slot& slot) const {
  uint64_t share = slot.content;
  for (const ValueRef& v : slot.operands) share = HashCombine(share, value_(v).name);
  for (const ValueInfo& value : slot.values) share = HashCombine(share, ~value.name);
  return share;
}

void EditGraph::CountOutput(size_t i, int sign) {
  hash_ += static_cast<uint64_t>(sign) * HashCombine(Mix64(i), value_(outputs_[i]).name);
}

void EditGraph::Link(int node) {
  Slot& slot = slots_[node];
  slot.live = true;
  by_key_[KeyOf(slot.content, slot.operands)].push_back(node);
  for (size_t i = 0; i < slot.operands.size(); ++i) {
    std::vector<Use>& uses = value_(slot.operands[i]).uses;
    const Use use{node, static_cast<int>(i)};
    auto before = [](const Use& a, const Use& b) {
      return a.position != b.position ? a.position < b.position : a.slot < b.slot;
    };
    uses.insert(std::lower_bound(uses.begin(), uses.end(), use, before), use);
  }
  hash_ += ShareOf(slot);
  if (!slot.head->is_op()) return;
  ++num_ops_;
  if (!slot.is_folded) price_ += slot.price;
}

void EditGraph::Unlink(int node) {
  Slot& slot = slots_[node];
  slot.live = false;
  auto entry = by_key_.find(KeyOf(slot.content, slot.operands));
  auto& equal = entry->second;
  equal.erase(std::find(equal.begin(), equal.end(), node));
  if (equal.empty()) by_key_.erase(entry);
  for (size_t i = 0; i < slot.operands.size(); ++i) {
    std::vector<Use>& uses = value_(slot.operands[i]).uses;
    const int number = static_cast<int>(i);
    uses.erase(std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
      return use.position == node && use.slot == number;
    }));
  }
  hash_ -= ShareOf(slot);
  if (!slot.head->is_op()) return;
  --num_ops_;
  if (!slot.is_folded) price_ -= slot.price;
}

bool EditGraph::SetFlags(Slot* slot) const {
  const Node& head = *slot->head;
  const bool is_symbolic = IsSymbolic(head);
  bool is_static = head.kind() != Node::Kind::kInput && head.is_finite() && !is_symbolic;
  bool is_known = (head.is_op() || head.has_payload()) && !is_symbolic;
  bool is_folded = is_known && (!head.is_op() || options_.may_fold != nullptr);
  for (const ValueRef& v : slot->operands) {
    const Slot& operand = slots_[v.node];
    is_static = is_static && operand.is_static;
    is_known = is_known && operand.is_known;
    is_folded = is_folded && operand.is_folded;
  }
  if (is_folded && head.is_op()) is_folded = options_.may_fold(head);
  const bool changed =
      is_static != slot->is_static || is_known != slot->is_known || is_folded != slot->is_folded;
  slot->is_static = is_static;
  slot->is_known = is_known;
  slot->is_folded = is_folded;
  return changed;
}

int EditGraph::FindEqual(const Node& head, uint64_t content,
                         absl::Span<const ValueRef> operands) const {
  auto entry = by_key_.find(KeyOf(content, operands));
  if (entry == by_key_.end()) return -1;
  for (int node : entry->second) {
    const Slot& slot = slots_[node];
    if (slot.content == content && SameContent(*slot.head, head) &&
        std::equal(operands.begin(), operands.end(), slot.operands.begin(), slot.operands.end())) {
      return node;
    }
  }
  return -1;
}

// ---- Single changes, each with its entry in the log ----

int EditGraph::Add(const NodePtr& head, absl::Span<const ValueRef> operands) {
  ++work_;
  const int node = num_nodes();
  Slot& slot = slots_.emplace_back();
  slot.head = head;
  slot.operands.assign(operands.begin(), operands.end());
  slot.content = ContentHash(*head);
  if (head->is_op() && options_.price) slot.price = options_.price(*head);
  uint64_t name = slot.content;
  for (const ValueRef& v : operands) {
    name = HashCombine(name, value_(v).name);
    slot.rank = std::max(slot.rank, slots_[v.node].rank + 1);
  }
  slot.values.resize(head->num_outputs());
  for (size_t k = 0; k < slot.values.size(); ++k) slot.values[k].name = HashCombine(name, k);
  SetFlags(&slot);
  Link(node);
  Entry entry{};
  entry.kind = Entry::Kind::kAdd;
  entry.node = node;
  log_.push_back(std::move(entry));
  return node;
}

bool EditGraph::IsUnused(int node) const {
  const Slot& slot = slots_[node];
  return slot.head->kind() != Node::Kind::kInput &&
         std::all_of(slot.values.begin(), slot.values.end(),
                     [](const ValueInfo& v) { return v.uses.empty() && v.outputs == 0; });
}

void EditGraph::KillIfUnused(int node) {
  std::vector<int> pending = {node};
  while (!pending.empty()) {
    const int next = pending.back();
    pending.pop_back();
    if (!slots_[next].live || !IsUnused(next)) continue;
    Unlink(next);
    Entry entry{};
    entry.kind = Entry::Kind::kKill;
    entry.node = next;
    log_.push_back(std::move(entry));
    for (const ValueRef& v : slots_[next].operands) pending.push_back(v.node);
  }
}

void EditGraph::Rewire(int node, OperandList operands) {
  std::vector<std::pair<int, OperandList>> pending = {{node, std::move(operands)}};
  while (!pending.empty()) {
    auto [next, wanted] = std::move(pending.back());
    pending.pop_back();
    ++work_;
    Slot& slot = slots_[next];
    Unlink(next);
    Entry entry{};
    entry.kind = Entry::Kind::kRewire;
    entry.node = next;
    entry.is_static = slot.is_static;
    entry.is_known = slot.is_known;
    entry.is_folded = slot.is_folded;
    entry.operands = std::move(slot.operands);
    log_.push_back(std::move(entry));
    slot.operands = std::move(wanted);
    const bool changed = SetFlags(&slot);
    Link(next);
    int64_t rank = 0;
    for (const ValueRef& v : slot.operands) rank = std::max(rank, slots_[v.node].rank + 1);
    if (rank > slot.rank) Raise(next, rank);
    if (!changed) continue;
    for (const ValueInfo& value : slot.values) {
      for (const Use& use : value.uses) {
        if (use.slot == 0 || slots_[use.position].operands.size() > 1) {
          pending.emplace_back(use.position, slots_[use.position].operands);
        }
      }
    }
  }
}

void EditGraph::Raise(int node, int64_t rank) {
  auto set = [&](int next, int64_t wanted) {
    Entry entry{};
    entry.kind = Entry::Kind::kRank;
    entry.node = next;
    entry.rank = slots_[next].rank;
    log_.push_back(std::move(entry));
    slots_[next].rank = wanted;
  };
  auto for_each_user = [&](int next, const auto& visit) {
    for (const ValueInfo& value : slots_[next].values) {
      for (const Use& use : value.uses) visit(use.position);
    }
  };
  MaintainTopologicalOrder(
      node, rank, [&](int next) { return slots_[next].rank; }, set, for_each_user);
}

void EditGraph::SetOutputs(ValueRef from, ValueRef to) {
  if (value_(from).outputs == 0) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] != from) continue;
    CountOutput(i, -1);
    --value_(from).outputs;
    ++value_(to).outputs;
    outputs_[i] = to;
    CountOutput(i, 1);
    Entry entry{};
    entry.kind = Entry::Kind::kOutput;
    entry.node = static_cast<int>(i);
    entry.from = from;
    entry.to = to;
    log_.push_back(std::move(entry));
  }
}

void EditGraph::SwapNames(ValueRef a, ValueRef b) {
  std::vector<int> affected;
  for (const ValueRef& v : {a, b}) {
    affected.push_back(v.node);
    for (const Use& use : value_(v).uses) affected.push_back(use.position);
  }
  std::sort(affected.begin(), affected.end());
  affected.erase(std::unique(affected.begin(), affected.end()), affected.end());
  auto count = [&](bool in) {
    for (int node : affected) {
      if (slots_[node].live) hash_ += in ? ShareOf(slots_[node]) : -ShareOf(slots_[node]);
    }
    if (value_(a).outputs + value_(b).outputs == 0) return;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] == a || outputs_[i] == b) CountOutput(i, in ? 1 : -1);
    }
  };
  count(false);
  std::swap(value_(a).name, value_(b).name);
  std::swap(value_(a).label, value_(b).label);
  count(true);
}

// ---- Edits ----

void EditGraph::Replace(ValueRef from, ValueRef to, std::vector<int>* merged) {
  std::vector<std::pair<ValueRef, ValueRef>> pending = {{from, to}};
  while (!pending.empty()) {
    auto [old, now] = pending.back();
    pending.pop_back();
    if (old == now) continue;
    SetOutputs(old, now);
    const std::vector<Use> uses = value_(old).uses;
    for (size_t u = 0; u < uses.size(); ++u) {
      const int user = uses[u].position;
      if (u > 0 && user == uses[u - 1].position) continue;
      OperandList operands = slots_[user].operands;
      std::replace(operands.begin(), operands.end(), old, now);
      const int equal = FindEqual(*slots_[user].head, slots_[user].content, operands);
      if (equal < 0) {
        Rewire(user, std::move(operands));
        continue;
      }
      // The user becomes the equal node; its own users follow.
      merged->push_back(user);
      for (int k = 0; k < Head(user).num_outputs(); ++k) pending.push_back({{user, k}, {equal, k}});
    }
  }
}

void EditGraph::Apply(const Edit& edit, std::vector<int>* made) {
  std::vector<int> numbers, fresh;
  auto resolve = [&](ValueRef v) { return v.node >= 0 ? v : ValueRef{numbers[~v.node], v.output}; };
  for (const EditNode& node : edit.nodes) {
    OperandList operands;
    for (const ValueRef& v : node.operands) operands.push_back(resolve(v));
    int number = FindEqual(*node.head, ContentHash(*node.head), operands);
    if (number < 0) {
      number = Add(node.head, operands);
      fresh.push_back(number);
    }
    numbers.push_back(number);
  }
  // A node that exists may be the value to replace (relu(x) as relu(relu(x))). Replacing it in
  // nodes computed from it would close a cycle, and gains nothing.
  const bool needs_replaced = std::any_of(
      edit.replaced.begin(), edit.replaced.end(), [&](const std::pair<ValueRef, ValueRef>& pair) {
        return resolve(pair.second) != pair.first &&
               std::any_of(edit.nodes.begin(), edit.nodes.end(), [&](const EditNode& node) {
                 return std::any_of(node.operands.begin(), node.operands.end(),
                                    [&](ValueRef v) { return resolve(v) == pair.first; });
               });
      });
  if (needs_replaced) {
    for (int node : fresh) KillIfUnused(node);
    if (made != nullptr) *made = std::move(numbers);
    return;
  }
  std::vector<int> unused;
  for (const auto& [old, target] : edit.replaced) {
    const ValueRef now = resolve(target);
    unused.push_back(old.node);
    if (now == old) continue;
    // The new value takes the name of the old one, so that later edits see the same names whatever
    // the order of edits.
    auto is_new = std::find(fresh.begin(), fresh.end(), now.node);
    if (is_new != fresh.end() && value_(now).uses.empty() && value_(now).outputs == 0) {
      SwapNames(old, now);
      Entry entry{};
      entry.kind = Entry::Kind::kSwapNames;
      entry.from = old;
      entry.to = now;
      log_.push_back(std::move(entry));
    }
    Replace(old, now, &unused);
  }
  unused.insert(unused.end(), fresh.begin(), fresh.end());
  for (int node : unused) KillIfUnused(node);
  if (made != nullptr) *made = std::move(numbers);
}

void EditGraph::UndoTo(size_t mark) {
  while (log_.size() > mark) {
    Undo(log_.back());
    log_.pop_back();
  }
}

void EditGraph::Undo(const Entry& entry) {
  switch (entry.kind) {
    case Entry::Kind::kAdd:
      Unlink(entry.node);
      slots_.pop_back();
      break;
    case Entry::Kind::kKill:
      Link(entry.node);
      break;
    case Entry::Kind::kRewire: {
      Unlink(entry.node);
      Slot& slot = slots_[entry.node];
      slot.operands = entry.operands;
      slot.is_static = entry.is_static;
      slot.is_known = entry.is_known;
      slot.is_folded = entry.is_folded;
      Link(entry.node);
      break;
    }
    case Entry::Kind::kOutput:
      CountOutput(entry.node, -1);
      --value_(entry.to).outputs;
      ++value_(entry.from).outputs;
      outputs_[entry.node] = entry.from;
      CountOutput(entry.node, 1);
      break;
    case Entry::Kind::kSwapNames:
      SwapNames(entry.from, entry.to);
      break;
    case Entry::Kind::kRank:
      slots_[entry.node].rank = entry.rank;
      break;
  }
}

std::vector<int> EditGraph::TouchedSince(size_t mark) const {
  std::vector<int> touched;
  for (size_t i = mark; i < log_.size(); ++i) {
    const Entry::Kind kind = log_[i].kind;
    if (kind == Entry::Kind::kAdd || kind == Entry::Kind::kKill || kind == Entry::Kind::kRewire) {
      touched.push_back(log_[i].node);
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

bool EditGraph::Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const {
  int64_t lowest = slots_[roots[0]].rank;
  for (int root : roots) lowest = std::min(lowest, slots_[root].rank);
  std::vector<int> pending;
  absl::flat_hash_set<int> seen;
  for (const ValueRef& v : values) pending.push_back(v.node);
  while (!pending.empty()) {
    const int node = pending.back();
    pending.pop_back();
    if (slots_[node].rank < lowest || !seen.insert(node).second) continue;
    if (std::find(roots.begin(), roots.end(), node) != roots.end()) return true;
    for (const ValueRef& v : slots_[node].operands) pending.push_back(v.node);
  }
  return false;
}

}  // namespace lemma
