#include "optimizer/search/partition.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "base/hash.h"
#include "rewrite/matching/match.h"

namespace lemma::optimizer {
namespace {

// The operators that depend on a graph input, operands before users, and the readers of values.
class Sequence {
 public:
  explicit Sequence(const EditGraph& graph) : graph_(graph) {
    nodes_ = graph.LiveNodes();
    nodes_.erase(std::remove_if(nodes_.begin(), nodes_.end(),
                                [&](int n) { return !graph.Head(n).is_op() || graph.IsStatic(n); }),
                 nodes_.end());
    position_.assign(graph.num_nodes(), -1);
    for (size_t i = 0; i < nodes_.size(); ++i) position_[nodes_[i]] = static_cast<int>(i);
    CountWidths();
  }

  int size() const { return static_cast<int>(nodes_.size()); }
  absl::Span<const int> Nodes(int begin, int end) const {
    return absl::MakeConstSpan(nodes_).subspan(begin, end - begin);
  }
  bool IsWithin(int node, int begin, int end) const {
    return position_[node] >= begin && position_[node] < end;
  }

  // The end of the part that begins at `begin`.
  int EndOf(int begin, const PartitionOptions& options) const {
    if (size() - begin <= options.max_ops) return size();
    int best = begin + options.min_ops;
    // The remainder must not be too small for a part.
    const int last = std::min(begin + options.max_ops, size() - options.min_ops);
    // Ties between equally narrow cuts are broken by the operators around them, so that repeated
    // layers are cut at the same place wherever the part begins.
    auto rank = [&](int end) { return std::make_pair(width_[end], AroundCut(end)); };
    for (int end = best; end <= last; ++end) {
      if (rank(end) <= rank(best)) best = end;
    }
    return best;
  }

 private:
  uint64_t AroundCut(int end) const {
    constexpr int kReach = 6;
    uint64_t h = 0;
    for (int i = std::max(0, end - kReach); i < std::min(size(), end + kReach); ++i) {
      const Node& head = graph_.Head(nodes_[i]);
      h = HashCombine(HashCombine(h, HashString(head.op().name)), head.type(0).Hash());
    }
    return h;
  }

  // Computes width_[i]: the number of values made before operator i and read at or after it.
  void CountWidths() {
    std::vector<int> change(size() + 1);
    for (int n : graph_.LiveNodes()) {
      if (graph_.IsStatic(n)) continue;
      for (int k = 0; k < graph_.Head(n).num_outputs(); ++k) {
        int last = position_[n];
        for (const auto& use : graph_.Users({n, k})) last = std::max(last, position_[use.position]);
        if (last <= position_[n]) continue;
        ++change[position_[n] + 1];
        if (last + 1 < static_cast<int>(change.size())) --change[last + 1];
      }
    }
    width_.assign(size() + 1, 0);
    for (int i = 0, width = 0; i <= size(); ++i) width_[i] = width += change[i];
  }

  const EditGraph& graph_;
  std::vector<int> nodes_, position_, width_;
};

class PartBuilder {
 public:
  // `nodes`: operands before users; `is_within`: whether a node is one of them.
  PartBuilder(const EditGraph& graph, absl::Span<const int> nodes,
              absl::FunctionRef<bool(int)> is_within)
      : graph_(graph), nodes_(nodes), is_within_(is_within) {}

  Part Build() {
    for (int node : nodes_) Add(node);
    part_.num_ops = static_cast<int>(nodes_.size());
    part_.key.push_back(part_.nodes.size());
    for (int node : nodes_) {
      for (int k = 0; k < graph_.Head(node).num_outputs(); ++k) {
        if (!IsReadOutside({node, k})) continue;
        part_.outputs.push_back({local_.at(node), k});
        Note(part_.outputs.back());
      }
    }
    return std::move(part_);
  }

 private:
  bool IsReadOutside(ValueRef value) const {
    if (graph_.IsOutput(value)) return true;
    const auto uses = graph_.Users(value);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const MatchView::Use& use) { return !is_within_(use.position); });
  }

  void Note(ValueRef local) {
    part_.key.push_back((static_cast<uint64_t>(local.node) << 8) +
                        static_cast<uint64_t>(local.output));
  }

  // A weight counts by its type, which rules may test, and by its value if all elements are equal.
  static uint64_t ContentOf(const Node& head) {
    uint64_t h = Mix64(static_cast<uint64_t>(head.kind()));
    if (head.is_op()) {
      h = HashCombine(h, head.operator_hash());
    } else if (head.has_payload()) {
      h = HashCombine(h, IsUniform(head.payload()) ? head.payload().ContentHash() : 1);
    }
    for (const TensorType& type : head.types()) h = HashCombine(h, type.Hash());
    return h;
  }

  ValueRef InputFor(ValueRef value) {
    auto [entry, is_new] =
        inputs_.try_emplace({value.node, value.output}, static_cast<int>(part_.nodes.size()));
    if (is_new) {
      const int index = static_cast<int>(inputs_.size()) - 1;
      part_.nodes.push_back({Node::Input(index, graph_.Head(value.node).type(value.output)), {}});
      part_.origin.push_back(value);
      part_.key.push_back(ContentOf(*part_.nodes.back().head));
    }
    return {entry->second, 0};
  }

  // The node's number in the part. A static node is added with all nodes that it depends on.
  int Add(int root) {
    std::vector<int> pending = {root};
    while (!pending.empty()) {
      const int node = pending.back();
      bool ready = true;
      for (const ValueRef& v : graph_.Operands(node)) {
        if (graph_.IsStatic(v.node) && !local_.contains(v.node)) {
          pending.push_back(v.node);
          ready = false;
          break;
        }
      }
      if (!ready) continue;
      pending.pop_back();
      if (local_.contains(node)) continue;
      EditNode added{graph_.HeadPtr(node), {}};
      for (const ValueRef& v : graph_.Operands(node)) {
        const bool is_here = graph_.IsStatic(v.node) || is_within_(v.node);
        added.operands.push_back(is_here ? ValueRef{local_.at(v.node), v.output} : InputFor(v));
      }
      local_[node] = static_cast<int>(part_.nodes.size());
      part_.key.push_back(ContentOf(*added.head));
      for (const ValueRef& v : added.operands) Note(v);
      part_.nodes.push_back(std::move(added));
      part_.origin.push_back({node, 0});
    }
    return local_.at(root);
  }

  const EditGraph& graph_;
  const absl::Span<const int> nodes_;
  const absl::FunctionRef<bool(int)> is_within_;
  Part part_;
  absl::flat_hash_map<int, int> local_;
  absl::flat_hash_map<std::pair<int, int>, int> inputs_;
};

}  // namespace

std::vector<Part> Partition(const EditGraph& graph, const PartitionOptions& options) {
  const Sequence sequence(graph);
  std::vector<Part> parts;
  for (int begin = 0; begin < sequence.size();) {
    const int end = sequence.EndOf(begin, options);
    auto is_within = [&](int node) { return sequence.IsWithin(node, begin, end); };
    parts.push_back(PartBuilder(graph, sequence.Nodes(begin, end), is_within).Build());
    begin = end;
  }
  return parts;
}

Part PartOf(const EditGraph& graph, const std::vector<int>& nodes) {
  const absl::flat_hash_set<int> within(nodes.begin(), nodes.end());
  return PartBuilder(graph, nodes, [&](int node) { return within.contains(node); }).Build();
}

PartMap::PartMap(const Part& part) : origin_(part.origin) {
  for (const EditNode& node : part.nodes) {
    is_input_.push_back(node.head->kind() == Node::Kind::kInput);
  }
}

std::optional<ValueRef> PartMap::Find(ValueRef value) const {
  const auto n = static_cast<size_t>(value.node);
  if (n >= origin_.size() || origin_[n].node < 0) return std::nullopt;
  return is_input_[n] ? origin_[n] : ValueRef{origin_[n].node, value.output};
}

MatchedEditPtr PartMap::Translate(const EditGraph& part, const EditGraph& whole,
                                  const MatchedEdit& matched) const {
  bool found = true;
  auto value = [&](ValueRef v) {
    if (v.node < 0) return v;  // made by the edit itself
    const std::optional<ValueRef> there = Find(v);
    found = found && there && whole.IsLive(there->node);
    return there.value_or(ValueRef{0, 0});
  };
  auto result = std::make_shared<MatchedEdit>(matched);
  for (int& node : result->match.nodes) node = value({node, 0}).node;
  for (ValueRef& v : result->match.vars) v = value(v);
  for (EditNode& node : result->edit.nodes) {
    for (ValueRef& v : node.operands) v = value(v);
  }
  for (auto& [from, to] : result->edit.replaced) {
    from = value(from);
    to = value(to);
  }
  result->match.anchor = value({matched.match.anchor, 0}).node;
  if (!found) return nullptr;
  for (int node : matched.match.nodes) found = found && IsAlike(part, whole, node);
  return found ? result : nullptr;
}

// Whether the node is the same operator on the same operands in both graphs. It was when the graph
// was cut, but edits of other parts may have changed nodes that they share.
bool PartMap::IsAlike(const EditGraph& part, const EditGraph& whole, int node) const {
  const int there = Find({node, 0})->node;
  const Node &a = part.Head(node), &b = whole.Head(there);
  if (a.is_op() != b.is_op() || a.types() != b.types()) return false;
  if (!a.is_op()) return a.has_payload() == b.has_payload();
  if (&a.op() != &b.op() || a.attrs() != b.attrs()) return false;
  const auto operands = part.Operands(node), operands_there = whole.Operands(there);
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<ValueRef> operand = Find(operands[i]);
    if (!operand || *operand != operands_there[i]) return false;
    if (part.IsStatic(operands[i].node) != whole.IsStatic(operand->node) ||
        part.IsKnown(operands[i].node) != whole.IsKnown(operand->node)) {
      return false;
    }
  }
  return true;
}

void PartMap::Extend(const std::vector<int>& made, const std::vector<int>& made_in_whole) {
  for (size_t i = 0; i < made.size(); ++i) {
    const auto n = static_cast<size_t>(made[i]);
    if (n >= origin_.size()) {
      origin_.resize(n + 1, {-1, 0});
      is_input_.resize(n + 1, false);
    }
    origin_[n] = {made_in_whole[i], 0};
  }
}

}  // namespace lemma::optimizer
