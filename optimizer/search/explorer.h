// Backtracking from one graph: descent, single rewrites, one rule everywhere.
#ifndef LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_
#define LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "optimizer/search/pareto_front.h"
#include "optimizer/search/search.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {

// What the explorations of one search may use up together.
class SearchBudget {
 public:
  // `report` is called now and then; it returns whether to go on.
  SearchBudget(const SearchLimits& limits, std::function<bool(int64_t queued)> report);

  // Counts one graph that was generated.
  void Count(int64_t queued);
  // To be called now and then while none is.
  void Tick(int64_t queued);
  // `free`: that the steps are used up does not matter.
  bool Stopped(bool free = false);
  // Steps beyond this number, if it is less than the limit's, do not happen either; a stop for that
  // reason is none of the search's. nullopt: the limit alone counts.
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

// A graph that was reached.
struct SearchState {
  RewritePathPtr path;
  uint64_t hash = 0;
  Rank rank;
};

class Explorer {
 public:
  // Graphs are followed up while they cost less than `alpha` times the best. All that are priced
  // are offered to `front`, which may be absent.
  Explorer(Workspace* work, SearchBudget* budget, double alpha, ParetoFront* front = nullptr)
      : work_(*work), budget_(*budget), alpha_(alpha), front_(front) {}

  // Takes any rewrite that lowers the cost, until none does, from the graph in hand. `free`: the
  // number of steps does not matter.
  absl::Status Descend(SearchState* state, bool free);
  // Goes on from `states` until nothing promising waits or the budget is used up. *best is the best
  // so far, before and after; also if the status is not OK.
  absl::Status Explore(const std::vector<SearchState>& states, SearchState* best);

 private:
  bool IsOver(bool free = false);
  bool Promising(const SearchState& state) const;
  void Offer(const Rank& rank, const MatchedEditPtr& matched, const RewritePathPtr& before);
  void Push(SearchState state);
  absl::Status Consider(SearchState state, bool descend);
  absl::Status Expand(const SearchState& state);
  absl::Status ApplyAll(const SearchState& from, const std::vector<int>& matches);

  Workspace& work_;
  SearchBudget& budget_;
  const double alpha_;
  ParetoFront* const front_;

  using Key = std::pair<Rank, int64_t>;  // and age
  std::map<Key, SearchState> queue_;
  int64_t sequence_ = 0;
  absl::flat_hash_set<uint64_t> seen_;
  SearchState* best_ = nullptr;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_EXPLORER_H_
