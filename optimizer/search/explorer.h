// Explores the graphs that rewrites reach from one graph: by descent, by single rewrites, and by
// apply-all (one rule at all its matches).
#ifndef LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_
#define LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "optimizer/search/pareto_front.h"
#include "optimizer/search/search.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {

// The budget that all explorations of one search share.
class SearchBudget {
 public:
  // `report` is called from time to time; it returns whether to continue.
  SearchBudget(const SearchLimits& limits, std::function<bool(int64_t queued)> report);

  // Counts one generated graph. `queued`, here and below: the number of graphs that wait to be
  // expanded, for the report.
  void Count(int64_t queued);
  // To be called regularly while no graph is generated.
  void Tick(int64_t queued);
  // Whether the search must end. `ignore_steps`: the limit on steps does not count.
  bool Stopped(bool ignore_steps = false);
  // Also stops explorations when steps() reaches `steps`, if below max_steps(); stop() is not set
  // then. nullopt: only max_steps() counts.
  void ShareUntil(std::optional<int64_t> steps) { share_ = steps; }
  bool ShareIsUsedUp() const { return share_ && steps_ >= *share_; }

  int64_t steps() const { return steps_; }
  int64_t max_steps() const { return limits_.max_steps; }
  const std::optional<StopReason>& stop() const { return stop_; }

 private:
  void Report(int64_t queued);
  using Clock = std::chrono::steady_clock;
  const SearchLimits limits_;
  const std::function<bool(int64_t)> report_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point reported_ = start_;
  int64_t steps_ = 0;
  std::optional<int64_t> share_;
  std::optional<StopReason> stop_;
};

// A graph that the search reached.
struct SearchState {
  RewritePathPtr path;
  uint64_t hash = 0;
  Rank rank;
  // Set when the whole graph was planned, if the cost model lists kernels.
  std::shared_ptr<const KernelList> kernels = {};
};

// Prices the workspace's graph exactly.
absl::StatusOr<SearchState> ExactState(Workspace* work);
// Whether `next` is certainly better than `first`. False if one of them has no kernels.
bool IsCertainlyBetter(const SearchState& next, const SearchState& first, CostModel* costs);
// Whether `next` is better than `best`, both exact: by Compare if both have kernels, else by rank.
absl::StatusOr<bool> IsBetter(const SearchState& next, const SearchState& best, CostModel* costs);

// One exploration, with a queue of graphs of its own. The constructor's arguments must outlive it.
class Explorer {
 public:
  // Expands graphs that cost at most `alpha` times the best. Offers every priced graph to `front`,
  // which may be null.
  Explorer(Workspace* work, SearchBudget* budget, double alpha, ParetoFront* front = nullptr)
      : work_(*work), budget_(*budget), alpha_(alpha), front_(front) {}

  // Starting from `state`, applies every rewrite that makes the graph better (Workspace::Try) until
  // there is none. `ignore_steps`: only time and interruption end it. If ranks are estimated, the
  // result is priced exactly at the end; if it is not better than the start, *state is the start
  // again. If the status is not OK, *state is a graph on the way, and its rank may be an estimate.
  absl::Status Descend(SearchState* state, bool ignore_steps);
  // The same with certain rewrites only: those that need no times (CannotLose in
  // optimizer/cost/plan_comparison.h). *state stays as it is if it has no kernels, or if the result
  // as a whole is not certainly better. Only time and interruption end it early.
  absl::Status DescendCertainly(SearchState* state);
  // Applies each rule that has two or more matches in *best at all of them and descends, as long as
  // that gives a better graph. For graphs that are too large to be explored.
  absl::Status ApplyEachRule(SearchState* best);
  // Explores from `states` until no promising graph is queued or the budget is used up. *best holds
  // the best state before and after the call, also if the status is not OK. A later call also
  // expands what is still queued, and skips graphs seen before.
  absl::Status Explore(const std::vector<SearchState>& states, SearchState* best);

 private:
  bool IsOver(bool ignore_steps = false);
  bool Promising(const SearchState& state) const;
  void Offer(const Rank& rank, const MatchedEditPtr& matched, const RewritePathPtr& before);
  void Push(SearchState state);
  absl::Status Consider(SearchState state, bool descend);
  absl::Status Take(SearchState* state, Workspace::Ask ask, bool ignore_steps);
  absl::Status Expand(const SearchState& state);
  absl::Status ApplyAll(const SearchState& from, const std::vector<int>& matches);
  absl::StatusOr<bool> ImprovesBest(SearchState* state);

  Workspace& work_;
  SearchBudget& budget_;
  const double alpha_;
  ParetoFront* const front_;

  using Key = std::pair<Rank, int64_t>;  // rank, then age
  std::map<Key, SearchState> queue_;
  int64_t sequence_ = 0;
  absl::flat_hash_set<uint64_t> seen_;
  SearchState* best_ = nullptr;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_
