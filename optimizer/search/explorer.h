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
  // Explorations also end when steps() reaches `steps`; this does not set stop(). nullopt: only
  // max_steps() limits the steps.
  void ShareUntil(std::optional<int64_t> steps) { share_ = steps; }
  bool ShareIsUsedUp() const { return share_ && steps_ >= *share_; }

  int64_t steps() const { return steps_; }
  int64_t max_steps() const { return limits_.max_steps; }
  // Why the search must end; nullopt: it may go on.
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
  // The kernels of the whole graph. nullptr: unknown, because the graph was not planned as a whole
  // or cannot run, or because the cost model lists no kernels.
  std::shared_ptr<const KernelList> kernels = {};
};

// The current graph of `work` with its exact rank and, if `work` estimates ranks, its kernels.
absl::StatusOr<SearchState> ExactState(Workspace* work);
// Whether `next` is certainly better than `first` (CannotLose). False if the kernels of one of them
// are unknown.
bool IsCertainlyBetter(const SearchState& next, const SearchState& first, CostModel* costs);
// Whether `next` is better than `best`: by Compare if the kernels of both are known, else by rank.
// Both ranks must be exact.
absl::StatusOr<bool> IsBetter(const SearchState& next, const SearchState& best, CostModel* costs);

// One exploration, with a queue of graphs of its own. The constructor's arguments must outlive it.
class Explorer {
 public:
  // Expands promising graphs only. A graph is promising if it costs at most `alpha` times as much
  // as the best graph. With a memory limit there is a second condition: its excess over the limit
  // is at most (alpha - 1) * limit larger than the best graph's excess. While the best graph
  // exceeds the limit, only the second condition counts. Offers every priced graph to `front`,
  // which may be null.
  Explorer(Workspace* work, SearchBudget* budget, double alpha, ParetoFront* front = nullptr)
      : work_(*work), budget_(*budget), alpha_(alpha), front_(front) {}

  // Starting from *state, applies each rewrite that makes the graph better (Workspace::Try) until
  // no rewrite does. If times are estimated, it also applies one rule to all users of an operator
  // together, if the operator is then no longer needed and the result is certainly better. *state
  // becomes the result. `ignore_steps`: only time and interruption end the descent early. If ranks
  // are estimated, the result is priced exactly at the end; if it is not better than the start,
  // *state is the start again. If the status is not OK, *state is a graph on the way, and its rank
  // may be an estimate.
  absl::Status Descend(SearchState* state, bool ignore_steps);
  // Like Descend, but with certain rewrites only, which need no times (CannotLose in
  // optimizer/cost/plan_comparison.h). *state stays as it is if its kernels are unknown, or if the
  // result as a whole is not certainly better. Only time and interruption end this descent early.
  absl::Status DescendCertainly(SearchState* state);
  // For each rule that has two or more matches in *best: applies the rule at all these matches and
  // descends. Repeats this as long as *best becomes better. Meant for graphs that are too large for
  // Explore.
  absl::Status ApplyEachRule(SearchState* best);
  // Explores from `states` until no promising graph is queued or the budget is used up. The caller
  // sets *best to the best state so far; Explore replaces it by each better state, also if the
  // status is not OK in the end. A later call also expands graphs that are still queued, and skips
  // graphs seen before.
  absl::Status Explore(const std::vector<SearchState>& states, SearchState* best);

 private:
  bool IsOver(bool ignore_steps = false);
  bool Promising(const SearchState& state) const;
  void Offer(const Rank& rank, const MatchedEditPtr& matched, const RewritePathPtr& before);
  void Push(SearchState state);
  absl::Status Consider(SearchState state, bool descend);
  absl::Status Take(SearchState* state, Workspace::Ask ask, bool ignore_steps);
  std::vector<std::vector<MatchedEditPtr>> Groups() const;
  absl::StatusOr<bool> TakeGroups(SearchState* state, absl::flat_hash_set<uint64_t>* passed,
                                  bool ignore_steps);
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
