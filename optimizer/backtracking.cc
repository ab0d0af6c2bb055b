#include "optimizer/backtracking.h"

#include <ctime>
#include <utility>
#include <vector>

#include "optimizer/explorer.h"
#include "optimizer/rewrite_steps.h"
#include "optimizer/workspace.h"

namespace lemma {
namespace {

class Backtracking : public Search {
 public:
  Backtracking(const RewriteSource* source, CostModel* costs, const BacktrackingOptions& options)
      : source_(*source), costs_(*costs), options_(options) {}

  absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) override {
    auto initial_cost = costs_.CostOf(graph);
    if (!initial_cost.ok()) return initial_cost.status();
    const std::clock_t start = std::clock();
    Workspace work(graph, source_.Rules(), &costs_);
    auto rank = work.Price();
    if (!rank.ok()) return rank.status();
    const SearchState initial{nullptr, work.graph().hash(), *rank};
    SearchState best = initial;
    SearchBudget budget(options_.limits, [&](int64_t queued) {
      if (!progress) return true;
      SearchProgress now;
      now.steps = budget.steps();
      now.queued = queued;
      now.initial = *initial_cost;
      now.best = Cost::Nanoseconds(static_cast<double>(best.rank.ns));
      now.num_rewrites = LengthOf(best.trail);
      return progress(now);
    });
    Explorer explorer(&work, &budget, options_.alpha);
    if (absl::Status s = explorer.Descend(&best, /*free=*/true); !s.ok()) return s;
    const SearchState descended = best;
    if (absl::Status s = explorer.Explore({initial, descended}, &best); !s.ok()) return s;

    SearchResult result;
    result.initial_cost = *initial_cost;
    result.stop = budget.stop().value_or(StopReason::kExhausted);
    result.steps = budget.steps();
    result.search_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    work.GoTo(descended.trail);
    result.descended = work.graph().ToGraph();
    result.descended_rewrites = StepsOf(graph, SitesOf(descended.trail));
    work.GoTo(best.trail);
    result.best = work.graph().ToGraph();
    result.rewrites = StepsOf(graph, SitesOf(best.trail));
    auto best_cost = costs_.CostOf(result.best);
    if (!best_cost.ok()) return best_cost.status();
    result.best_cost = *best_cost;
    return result;
  }

 private:
  const RewriteSource& source_;
  CostModel& costs_;
  const BacktrackingOptions options_;
};

}  // namespace

const char* Name(StopReason reason) {
  switch (reason) {
    case StopReason::kExhausted:
      return "exhausted";
    case StopReason::kSteps:
      return "steps";
    case StopReason::kSeconds:
      return "seconds";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::unique_ptr<Search> MakeBacktrackingSearch(const RewriteSource* source, CostModel* costs,
                                               const BacktrackingOptions& options) {
  return std::make_unique<Backtracking>(source, costs, options);
}

}  // namespace lemma
