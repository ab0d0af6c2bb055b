#include "optimizer/search/workspace.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "optimizer/cost/plan_comparison.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/partition.h"

namespace lemma::optimizer {
namespace {

constexpr int64_t kLargestPrice = int64_t{1} << 40;
// Above this number of operators, costs of models that list no kernels are estimated too.
constexpr int kExactOps = 600;
// Estimates plan this many operators around a match.
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

bool Estimates(const Objective& objective, bool is_sum, const EditGraph& graph, CostModel* costs) {
  if (!objective.IsTime() || is_sum) return false;
  return costs->ListsKernels() || graph.num_ops() > kExactOps;
}

EditGraphOptions OptionsFor(CostModel* costs, bool is_sum) {
  EditGraphOptions options;
  options.may_fold = IsFoldable;
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

absl::StatusOr<KnownPlans::Plan*> KnownPlans::Of(const EditGraph& graph,
                                                 const std::vector<int>& nodes, CostModel* costs) {
  const Part part = PartOf(graph, graph.Sorted(nodes));
  std::unique_ptr<Plan>& known = plans_[part.key];
  if (known != nullptr) return known.get();
  auto plan = std::make_unique<Plan>();
  if (nodes.empty()) {  // the rewrite concerns weights only
    plan->kernels.emplace();
    plan->ns = 0;
  } else {
    const Graph alone = EditGraph(part.nodes, part.outputs, {}).ToGraph();
    if (costs->ListsKernels()) {
      auto kernels = costs->KernelsOf(alone);
      if (!kernels.ok()) return kernels.status();
      plan->kernels = *std::move(kernels);
      if (!plan->kernels) plan->ns = kLargestPrice;
    } else {
      auto cost = costs->CostOf(alone);
      if (!cost.ok()) return cost.status();
      plan->ns = std::min(cost->ns(), kLargestPrice);
    }
  }
  known = std::move(plan);
  return known.get();
}

Workspace::Workspace(const Graph& graph, RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
                     const Objective& objective)
    : costs_(costs),
      plans_(plans),
      objective_(objective),
      is_sum_(objective.IsTime() && IsSum(costs, graph)),
      graph_(graph, OptionsFor(costs, is_sum_)),
      is_estimating_(Estimates(objective, is_sum_, graph_, costs)),
      matches_(std::make_unique<MatchSet>(std::move(rules), &graph_)) {}

Workspace::Workspace(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
                     RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
                     const Objective& objective)
    : costs_(costs),
      plans_(plans),
      objective_(objective),
      is_sum_(objective.IsTime() && IsSum(costs, nodes)),
      graph_(nodes, outputs, OptionsFor(costs, is_sum_)),
      is_estimating_(Estimates(objective, is_sum_, graph_, costs)),
      matches_(std::make_unique<MatchSet>(std::move(rules), &graph_)) {}

void Workspace::SetRules(RuleIndexPtr rules) {
  GoTo(nullptr);
  matches_ = std::make_unique<MatchSet>(std::move(rules), &graph_);
}

absl::StatusOr<Rank> Workspace::Price() {
  if (is_sum_) return Rank::OfTime(graph_.price(), graph_.num_ops());
  auto cost = costs_->CostOf(graph_.ToGraph());
  if (!cost.ok()) return cost.status();
  return objective_.RankOf(*cost, graph_.num_ops());
}

// The operators nearest to the matches that depend on an input.
std::vector<int> Workspace::Around(absl::Span<const MatchedEdit* const> matches) const {
  std::vector<int> nodes;
  absl::flat_hash_set<int> seen;
  auto add = [&](int node) {
    if (!graph_.Head(node).is_op() || graph_.IsStatic(node)) return;
    if (nodes.size() < kAround && seen.insert(node).second) nodes.push_back(node);
  };
  for (const MatchedEdit* matched : matches) {
    for (int node : matched->match.nodes) add(node);
    for (const ValueRef& v : matched->match.vars) add(v.node);
  }
  for (size_t i = 0; i < nodes.size() && nodes.size() < kAround; ++i) {
    const int node = nodes[i];
    for (int k = 0; k < graph_.Head(node).num_outputs(); ++k) {
      for (const MatchView::Use& use : graph_.Users({node, k})) add(use.position);
    }
    for (const ValueRef& v : graph_.Operands(node)) add(v.node);
  }
  return nodes;
}

absl::StatusOr<std::shared_ptr<const KernelList>> Workspace::Kernels() {
  if (!costs_->ListsKernels()) return nullptr;
  auto kernels = costs_->KernelsOf(graph_.ToGraph());
  if (!kernels.ok()) return kernels.status();
  if (!kernels->has_value()) return nullptr;
  return std::make_shared<const KernelList>(**std::move(kernels));
}

absl::StatusOr<int64_t> Workspace::PriceOf(KnownPlans::Plan* plan) {
  if (plan->ns) return *plan->ns;
  auto prices = costs_->PricesOf(*plan->kernels);
  if (!prices.ok()) return prices.status();
  double ns = 0;
  for (size_t i = 0; i < prices->size(); ++i) ns += (*prices)[i].ns * (*plan->kernels)[i].times;
  return std::min(Cost::Nanoseconds(ns).ns(), kLargestPrice);
}

// `operators`: by how many the graph has more afterwards.
absl::StatusOr<Workspace::Outcome> Workspace::Judge(KnownPlans::Plan* before,
                                                    KnownPlans::Plan* after, int operators,
                                                    Rank now, Ask ask) {
  Outcome outcome;
  if (ask == Ask::kIsCertain) {
    outcome.is_certain = before->kernels && after->kernels &&
                         CannotLose(DifferenceOf(*before->kernels, *after->kernels), costs_);
    outcome.is_better = outcome.is_certain;
    outcome.rank = Rank::OfTime(now.ns, graph_.num_ops());
    return outcome;
  }
  const bool compares = ask == Ask::kIsBetter && before->kernels && after->kernels;
  if (compares) {
    auto comparison = Compare(*before->kernels, *after->kernels, operators, costs_);
    if (!comparison.ok()) return comparison.status();
    outcome.is_better = comparison->verdict == PlanComparison::Verdict::kBetter;
    outcome.rank = Rank::OfTime(now.ns, graph_.num_ops());
    outcome.is_certain = outcome.is_better && comparison->is_certain;
    if (comparison->is_certain) return outcome;
  }
  auto old_ns = PriceOf(before), new_ns = PriceOf(after);
  if (!old_ns.ok()) return old_ns.status();
  if (!new_ns.ok()) return new_ns.status();
  // A graph that cannot be planned stays one.
  const bool is_infinite = now.ns == Cost::kInfinite;
  outcome.rank = Rank::OfTime(is_infinite ? now.ns : now.ns - *old_ns + *new_ns, graph_.num_ops());
  if (!compares) outcome.is_better = outcome.rank < now;
  return outcome;
}

// Those of `nodes`, and of the nodes from `first_new` on, that are executed in each run.
std::vector<int> Workspace::Running(std::vector<int> nodes, int first_new) const {
  for (int node = first_new; node < graph_.num_nodes(); ++node) nodes.push_back(node);
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](int node) {
                               return !graph_.IsLive(node) || !graph_.Head(node).is_op() ||
                                      graph_.IsStatic(node);
                             }),
              nodes.end());
  return nodes;
}

// Applies `matched` and ranks the resulting graph.
absl::StatusOr<Workspace::Outcome> Workspace::After(const MatchedEdit& matched, Rank now, Ask ask) {
  if (!is_estimating_) {
    graph_.Apply(matched.edit);
    auto rank = Price();
    if (!rank.ok()) return rank.status();
    return Outcome{0, *rank, *rank < now};
  }
  const std::vector<int> around = Around({&matched});
  auto before = plans_->Of(graph_, around, costs_);
  const int old_nodes = graph_.num_nodes(), old_ops = graph_.num_ops();
  graph_.Apply(matched.edit);
  if (!before.ok()) return before.status();
  auto after = plans_->Of(graph_, Running(around, old_nodes), costs_);
  if (!after.ok()) return after.status();
  return Judge(*before, *after, graph_.num_ops() - old_ops, now, ask);
}

absl::StatusOr<std::optional<Workspace::Outcome>> Workspace::Try(const MatchedEdit& matched,
                                                                 Rank now, Ask ask) {
  if (!matches_->IsApplicable(matched)) return std::optional<Outcome>();
  const uint64_t before = graph_.hash();
  const size_t mark = graph_.mark();
  auto outcome = After(matched, now, ask);
  const uint64_t hash = graph_.hash();
  graph_.UndoTo(mark);
  if (!outcome.ok()) return outcome.status();
  if (hash == before) return std::optional<Outcome>();
  outcome->hash = hash;
  return std::optional<Outcome>(*outcome);
}

absl::StatusOr<std::optional<Workspace::Outcome>> Workspace::CommitTogether(
    const std::vector<MatchedEditPtr>& matches, Rank now) {
  std::vector<const MatchedEdit*> places;
  places.reserve(matches.size());
  for (const MatchedEditPtr& matched : matches) places.push_back(matched.get());
  const std::vector<int> around = Around(places);
  auto before = plans_->Of(graph_, around, costs_);
  if (!before.ok()) return before.status();
  const RewritePathPtr path = path_;
  const uint64_t hash = graph_.hash();
  const int old_nodes = graph_.num_nodes(), old_ops = graph_.num_ops();
  for (auto m = matches.rbegin(); m != matches.rend(); ++m) Commit(*m);
  auto after = plans_->Of(graph_, Running(around, old_nodes), costs_);
  absl::StatusOr<Outcome> outcome =
      after.ok() ? Judge(*before, *after, graph_.num_ops() - old_ops, now, Ask::kIsCertain)
                 : absl::StatusOr<Outcome>(after.status());
  if (outcome.ok() && outcome->is_certain && graph_.hash() != hash) {
    outcome->hash = graph_.hash();
    return std::optional<Outcome>(*outcome);
  }
  GoTo(path);
  if (!outcome.ok()) return outcome.status();
  return std::optional<Outcome>();
}

void Workspace::Apply(const MatchedEdit& matched, std::vector<int>* made) {
  const size_t graph_mark = graph_.mark();
  places_.push_back({path_, graph_mark, matches_->mark()});
  graph_.Apply(matched.edit, made);
  matches_->Update(graph_mark);
}

bool Workspace::Commit(const MatchedEditPtr& matched, std::vector<int>* made) {
  if (!matches_->IsApplicable(*matched)) return false;
  // `matched` belongs to the match set, which changes.
  const MatchedEditPtr kept = matched;  // NOLINT(performance-unnecessary-copy-initialization)
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
    matches_->UndoTo(places_[common].matches_mark);
    path_ = places_[common].path;
    places_.resize(common);
  }
  for (; common < wanted.size(); ++common) {
    Apply(*wanted[common]->matched, nullptr);
    path_ = wanted[common];
  }
}

}  // namespace lemma::optimizer
