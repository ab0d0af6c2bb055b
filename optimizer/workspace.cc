#include "optimizer/workspace.h"

#include <algorithm>
#include <utility>

#include "optimizer/constant_folding.h"

namespace lemma {
namespace {

constexpr int64_t kLargestPrice = int64_t{1} << 40;

// Whether the model prices operators one by one.
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

std::vector<SitePtr> SitesOf(const TrailPtr& trail) {
  std::vector<SitePtr> sites(LengthOf(trail));
  size_t i = sites.size();
  for (const Trail* t = trail.get(); t != nullptr; t = t->before.get()) sites[--i] = t->site;
  return sites;
}

Workspace::Workspace(const Graph& graph, std::vector<const PreparedRule*> rules, CostModel* costs)
    : costs_(costs),
      is_sum_(IsSum(costs, graph)),
      graph_(graph, OptionsFor(costs, is_sum_)),
      matches_(std::move(rules), &graph_) {}

Workspace::Workspace(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
                     std::vector<const PreparedRule*> rules, CostModel* costs)
    : costs_(costs),
      is_sum_(IsSum(costs, nodes)),
      graph_(nodes, outputs, OptionsFor(costs, is_sum_)),
      matches_(std::move(rules), &graph_) {}

absl::StatusOr<Rank> Workspace::Price() {
  if (is_sum_) return Rank{graph_.price(), graph_.num_ops()};
  auto cost = costs_->CostOf(graph_.ToGraph());
  if (!cost.ok()) return cost.status();
  return Rank{cost->ns(), graph_.num_ops()};
}

absl::StatusOr<std::optional<Workspace::Outcome>> Workspace::Try(const Site& site) {
  if (!matches_.IsApplicable(site)) return std::optional<Outcome>();
  const uint64_t before = graph_.hash();
  const size_t mark = graph_.mark();
  graph_.Apply(site.edit);
  std::optional<Outcome> outcome;
  absl::Status status;
  if (graph_.hash() != before) {
    auto rank = Price();
    status = rank.status();
    if (rank.ok()) outcome = {graph_.hash(), *rank};
  }
  graph_.UndoTo(mark);
  if (!status.ok()) return status;
  return outcome;
}

void Workspace::Apply(const Site& site, std::vector<int>* made) {
  const size_t graph_mark = graph_.mark();
  path_.push_back({trail_, graph_mark, matches_.mark()});
  graph_.Apply(site.edit, made);
  matches_.Update(graph_mark);
}

bool Workspace::Commit(const SitePtr& site, std::vector<int>* made) {
  if (!matches_.IsApplicable(*site)) return false;
  const SitePtr kept = site;  // of the match set, which changes
  Apply(*kept, made);
  trail_ = std::make_shared<Trail>(Trail{kept, trail_, LengthOf(trail_) + 1});
  return true;
}

void Workspace::GoTo(const TrailPtr& trail) {
  std::vector<TrailPtr> wanted(LengthOf(trail));
  size_t i = wanted.size();
  for (TrailPtr t = trail; t != nullptr; t = t->before) wanted[--i] = t;
  // How far the ways are one: the place before step i + 1 is where step i led to.
  auto reached = [&](size_t step) {
    return step + 1 < path_.size() ? path_[step + 1].trail : trail_;
  };
  size_t common = 0;
  while (common < wanted.size() && common < path_.size() && reached(common) == wanted[common]) {
    ++common;
  }
  if (common < path_.size()) {
    graph_.UndoTo(path_[common].graph_mark);
    matches_.UndoTo(path_[common].matches_mark);
    trail_ = path_[common].trail;
    path_.resize(common);
  }
  for (; common < wanted.size(); ++common) {
    Apply(*wanted[common]->site, nullptr);
    trail_ = wanted[common];
  }
}

}  // namespace lemma
