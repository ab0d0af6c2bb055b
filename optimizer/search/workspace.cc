#include "optimizer/search/workspace.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/partition.h"

namespace lemma::optimizer {
namespace {

constexpr int64_t kLargestPrice = int64_t{1} << 40;
// Above this number of operators, costs are estimated from kAround operators around a match.
constexpr int kExactOps = 600;
constexpr size_t kAround = 40;

// Whether the model is a sum over operators.
bool IsSum(CostModel* costs, const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) return costs->CostOfOperator(*node).has_value();
  }
  return false;
}

bool IsSum(CostModel* costs, absl::Span<const EditNode> nodes) {
  for (const EditNode& node : nodes) {
    if (node.head->is_op()) return costs->CostOfOperator(*node.head).has_value();
  }
  return false;
}

EditGraphOptions OptionsFor(CostModel* costs, bool is_sum) {
  EditGraphOptions options;
  options.folds = IsFoldable;
  if (is_sum) {
    options.price = [costs](const Node& node) {
      return std::min(costs->CostOfOperator(node)->ns(), kLargestPrice);
    };
  }
  return options;
}

}  // namespace

std::vector<MatchedEditPtr> MatchedEditsOf(const RewritePathPtr& path) {
  std::vector<MatchedEditPtr> matched_edits(LengthOf(path));
  size_t i = matched_edits.size();
  for (const RewritePath* t = path.get(); t != nullptr; t = t->before.get())
    matched_edits[--i] = t->matched;
  return matched_edits;
}

Workspace::Workspace(const Graph& graph, std::vector<const PreparedRule*> rules, CostModel* costs,
                     const Objective& objective)
    : costs_(costs),
      objective_(objective),
      is_sum_(objective.IsTime() && IsSum(costs, graph)),
      graph_(graph, OptionsFor(costs, is_sum_)),
      is_estimating_(objective.IsTime() && !is_sum_ && graph_.num_ops() > kExactOps),
      matches_(std::move(rules), &graph_) {}

Workspace::Workspace(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
                     std::vector<const PreparedRule*> rules, CostModel* costs,
                     const Objective& objective)
    : costs_(costs),
      objective_(objective),
      is_sum_(objective.IsTime() && IsSum(costs, nodes)),
      graph_(nodes, outputs, OptionsFor(costs, is_sum_)),
      is_estimating_(objective.IsTime() && !is_sum_ && graph_.num_ops() > kExactOps),
      matches_(std::move(rules), &graph_) {}

absl::StatusOr<Rank> Workspace::Price() {
  if (is_sum_) return Rank::OfTime(graph_.price(), graph_.num_ops());
  auto cost = costs_->CostOf(graph_.ToGraph());
  if (!cost.ok()) return cost.status();
  return objective_.RankOf(*cost, graph_.num_ops());
}

// The operators nearest to the match that depend on an input.
std::vector<int> Workspace::Around(const MatchedEdit& matched) const {
  std::vector<int> nodes;
  absl::flat_hash_set<int> seen;
  auto add = [&](int node) {
    if (!graph_.Head(node).is_op() || graph_.IsStatic(node)) return;
    if (nodes.size() < kAround && seen.insert(node).second) nodes.push_back(node);
  };
  for (int node : matched.match.nodes) add(node);
  for (const ValueRef& v : matched.match.vars) add(v.node);
  for (size_t i = 0; i < nodes.size() && nodes.size() < kAround; ++i) {
    const int node = nodes[i];
    for (int k = 0; k < graph_.Head(node).num_outputs(); ++k) {
      for (const MatchView::Use& use : graph_.Users({node, k})) add(use.position);
    }
    for (const ValueRef& v : graph_.Operands(node)) add(v.node);
  }
  return nodes;
}

absl::StatusOr<int64_t> Workspace::PriceOf(const std::vector<int>& nodes) {
  if (nodes.empty()) return 0;  // the rewrite concerns weights only
  const Part part = PartOf(graph_, graph_.Sorted(nodes));
  auto known = known_.find(part.key);
  if (known != known_.end()) return known->second;
  auto cost = costs_->CostOf(EditGraph(part.nodes, part.outputs, {}).ToGraph());
  if (!cost.ok()) return cost.status();
  const int64_t price = std::min(cost->ns(), kLargestPrice);
  known_.emplace(part.key, price);
  return price;
}

// Applies `matched` and prices the resulting graph.
absl::StatusOr<Rank> Workspace::PriceAfter(const MatchedEdit& matched, Rank now) {
  if (!is_estimating_) {
    graph_.Apply(matched.edit);
    return Price();
  }
  std::vector<int> around = Around(matched);
  auto before = PriceOf(around);
  const int old_nodes = graph_.num_nodes();
  graph_.Apply(matched.edit);
  if (!before.ok()) return before.status();
  for (int node = old_nodes; node < graph_.num_nodes(); ++node) around.push_back(node);
  around.erase(std::remove_if(around.begin(), around.end(),
                              [&](int node) {
                                return !graph_.IsLive(node) || !graph_.Head(node).is_op() ||
                                       graph_.IsStatic(node);
                              }),
               around.end());
  auto after = PriceOf(around);
  if (!after.ok()) return after.status();
  return Rank::OfTime(now.ns - *before + *after, graph_.num_ops());
}

absl::StatusOr<std::optional<Workspace::Outcome>> Workspace::Try(const MatchedEdit& matched,
                                                                 Rank now) {
  if (!matches_.IsApplicable(matched)) return std::optional<Outcome>();
  const uint64_t before = graph_.hash();
  const size_t mark = graph_.mark();
  auto rank = PriceAfter(matched, now);
  std::optional<Outcome> outcome;
  if (rank.ok() && graph_.hash() != before) outcome = {graph_.hash(), *rank};
  graph_.UndoTo(mark);
  if (!rank.ok()) return rank.status();
  return outcome;
}

void Workspace::Apply(const MatchedEdit& matched, std::vector<int>* made) {
  const size_t graph_mark = graph_.mark();
  places_.push_back({path_, graph_mark, matches_.mark()});
  graph_.Apply(matched.edit, made);
  matches_.Update(graph_mark);
}

bool Workspace::Commit(const MatchedEditPtr& matched, std::vector<int>* made) {
  if (!matches_.IsApplicable(*matched)) return false;
  const MatchedEditPtr kept = matched;  // `matched` belongs to the match set, which changes
  Apply(*kept, made);
  path_ = std::make_shared<RewritePath>(RewritePath{kept, path_, LengthOf(path_) + 1});
  return true;
}

void Workspace::GoTo(const RewritePathPtr& path) {
  std::vector<RewritePathPtr> wanted(LengthOf(path));
  size_t i = wanted.size();
  for (RewritePathPtr t = path; t != nullptr; t = t->before) wanted[--i] = t;
  // Finds the common beginning of both paths. Step i leads to the state before step i + 1.
  auto reached = [&](size_t step) {
    return step + 1 < places_.size() ? places_[step + 1].path : path_;
  };
  size_t common = 0;
  while (common < wanted.size() && common < places_.size() && reached(common) == wanted[common]) {
    ++common;
  }
  if (common < places_.size()) {
    graph_.UndoTo(places_[common].graph_mark);
    matches_.UndoTo(places_[common].matches_mark);
    path_ = places_[common].path;
    places_.resize(common);
  }
  for (; common < wanted.size(); ++common) {
    Apply(*wanted[common]->matched, nullptr);
    path_ = wanted[common];
  }
}

}  // namespace lemma::optimizer
