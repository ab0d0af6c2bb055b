#include "optimizer/cost/node_price.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rewrite/matching/edit_graph.h"

namespace lemma::optimizer {
namespace {

// Length of the longest chain of nodes before a node that is considered for its price.
constexpr size_t kLongestChain = 3;

// Builds a graph from some nodes of an e-graph, added after their operands. Other values are inputs
// or, if they depend on no input, weights.
class SmallGraph {
 public:
  explicit SmallGraph(const EGraph& egraph) : egraph_(egraph) {}

  void Add(int node) {
    EditNode added{egraph_.HeadPtr(node), {}};
    for (const ValueRef& v : egraph_.Operands(node)) added.operands.push_back(Local(v));
    const int number = Push(std::move(added));
    last_ = number;
    for (int k = 0; k < egraph_.Head(node).num_outputs(); ++k) {
      local_[egraph_.ClassOf({node, k})] = {number, k};
    }
  }

  Graph Build() const {
    std::vector<ValueRef> outputs;
    for (int k = 0; k < nodes_[last_].head->num_outputs(); ++k) outputs.push_back({last_, k});
    return EditGraph(nodes_, outputs, {}).ToGraph();
  }

 private:
  int Push(EditNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  ValueRef Local(ValueRef value) {
    auto [entry, is_new] = local_.try_emplace(egraph_.ClassOf(value));
    if (!is_new) return entry->second;
    const Node& head = egraph_.Head(value.node);
    const TensorType& type = head.type(value.output);
    NodePtr leaf;
    if (!egraph_.IsStatic(value.node)) {
      leaf = Node::Input(num_inputs_++, type);
    } else if (head.is_op()) {
      leaf = Node::Weight(absl::StrCat("computed", value.node), type, Tensor());
    } else {
      leaf = egraph_.HeadPtr(value.node);
    }
    return entry->second = {Push({leaf, {}}), 0};
  }

  const EGraph& egraph_;
  std::vector<EditNode> nodes_;
  absl::flat_hash_map<int, ValueRef> local_;  // by class
  int num_inputs_ = 0, last_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> NodePrices::PriceOf(const Chain& chain, bool exact) {
  SmallGraph small(egraph_);
  for (int node : chain) small.Add(node);
  const Graph graph = small.Build();
  auto& memo = exact ? known_ : estimated_;
  const uint64_t hash = graph.StructuralHash();
  auto it = memo.find(hash);
  if (it != memo.end()) return it->second;
  auto cost = exact ? costs_.CostOf(graph) : costs_.EstimateOf(graph);
  if (!cost.ok()) return cost.status();
  memo[hash] = cost->ns();
  return cost->ns();
}

absl::StatusOr<int64_t> NodePrices::Of(int node, bool exact) {
  Chain& best = chain_[node];
  best = {node};
  if (auto cost = costs_.CostOfOperator(egraph_.Head(node))) return cost->ns();
  auto alone = PriceOf({node}, exact);
  if (!alone.ok() || *alone == Cost::kInfinite) return alone;
  int64_t least = *alone;
  for (const ValueRef& operand : egraph_.Operands(node)) {
    for (const ValueRef& v : egraph_.EqualTo(operand)) {
      if (!egraph_.Head(v.node).is_op() || egraph_.IsStatic(v.node) || v.node == node) continue;
      Chain chain = chain_[v.node].empty() ? Chain{v.node} : chain_[v.node];
      auto below = PriceOf(chain, exact);
      if (!below.ok()) return below;
      chain.push_back(node);
      auto both = PriceOf(chain, exact);
      if (!both.ok()) return both;
      if (*below == Cost::kInfinite || *both == Cost::kInfinite) continue;
      const int64_t added = std::max<int64_t>(0, *both - *below);
      if (added >= least) continue;
      least = added;
      best = std::move(chain);
      if (best.size() > kLongestChain) best.erase(best.begin());
    }
  }
  return least;
}

absl::Status NodePrices::LookAt(const Graph& graph) {
  auto shares = costs_.SharesOf(graph);
  if (!shares.ok()) return shares.status();
  const std::vector<int> numbers = egraph_.NodesOf(graph);
  for (size_t i = 0; i < shares->size(); ++i) {
    if (numbers[i] < 0) continue;
    auto [entry, is_new] = seen_.emplace(numbers[i], (*shares)[i].ns());
    if (!is_new) entry->second = std::min(entry->second, (*shares)[i].ns());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> NodePrices::All(const std::vector<bool>& exact) {
  std::vector<int64_t> prices(egraph_.num_nodes());
  chain_.assign(egraph_.num_nodes(), {});
  for (int n = 0; n < egraph_.num_nodes(); ++n) {
    if (!egraph_.IsLive(n) || !egraph_.Head(n).is_op() || egraph_.IsFolded(n)) continue;
    auto price = Of(n, exact[n]);
    if (!price.ok()) return price.status();
    auto seen = seen_.find(n);
    prices[n] = seen == seen_.end() ? *price : std::min(*price, seen->second);
  }
  return prices;
}

}  // namespace lemma::optimizer
