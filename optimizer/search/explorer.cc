#include "optimizer/search/explorer.h"

#include <string>

namespace lemma::optimizer {

// ---- The budget ----

SearchBudget::SearchBudget(const SearchLimits& limits, std::function<bool(int64_t)> report)
    : limits_(limits), report_(std::move(report)) {}

void SearchBudget::Count(int64_t queued) {
  ++steps_;
  constexpr int64_t kStepsPerReport = 64;
  if (steps_ % kStepsPerReport == 0) {
    Report(queued);
  } else {
    Tick(queued);
  }
}

void SearchBudget::Tick(int64_t queued) {
  constexpr std::chrono::milliseconds kQuiet(50);
  if (Clock::now() - reported_ >= kQuiet) Report(queued);
}

void SearchBudget::Report(int64_t queued) {
  reported_ = Clock::now();
  if (!report_(queued)) stop_ = StopReason::kCancelled;
}

bool SearchBudget::Stopped(bool free) {
  if (stop_ && !(free && stop_ == StopReason::kSteps)) return true;
  if (!free && steps_ >= limits_.max_steps) {
    stop_ = StopReason::kSteps;
  } else if (limits_.max_seconds > 0 &&
             std::chrono::duration<double>(Clock::now() - start_).count() >= limits_.max_seconds) {
    stop_ = StopReason::kSeconds;
  }
  return stop_ && !(free && stop_ == StopReason::kSteps);
}

// ---- The exploration ----

bool Explorer::IsOver(bool free) {
  return budget_.Stopped(free) || (!free && budget_.ShareIsUsedUp());
}

bool Explorer::Promising(const SearchState& state) const {
  const Rank &rank = state.rank, &best = best_->rank;
  const auto limit = static_cast<double>(work_.objective().memory_limit);
  if (static_cast<double>(rank.over - best.over) > (alpha_ - 1) * limit) return false;
  return best.over > 0 ||
         static_cast<double>(rank.value) <= alpha_ * static_cast<double>(best.value);
}

void Explorer::Push(SearchState state) {
  const Key key(state.rank, sequence_++);
  queue_.emplace(key, std::move(state));
}

// Offers to the front the graph that `matched` makes of the one that `before` leads to.
void Explorer::Offer(const Rank& rank, const MatchedEditPtr& matched,
                     const RewritePathPtr& before) {
  if (front_ == nullptr) return;
  front_->Offer(rank, [&] {
    return std::make_shared<RewritePath>(RewritePath{matched, before, LengthOf(before) + 1});
  });
}

// Each pass tries each match once, including matches that arise during the pass. Passes repeat
// until one finds nothing, because a rewrite may pay off only after a later one.
absl::Status Explorer::Descend(SearchState* state, bool free) {
  const SearchState start = *state;
  work_.GoTo(state->path);
  for (bool improved = true; improved && !IsOver(free);) {
    improved = false;
    for (int m = 0; m < work_.matches().size() && !IsOver(free); ++m) {
      if (!work_.matches().IsAlive(m)) continue;
      const MatchedEditPtr matched = work_.matches().matched(m);
      auto next = work_.Try(*matched, state->rank);
      if (!next.ok()) return next.status();
      if (!next->has_value()) continue;
      budget_.Count(static_cast<int64_t>(queue_.size()));
      Offer((*next)->rank, matched, work_.path());
      if (!((*next)->rank < state->rank) || !work_.Commit(matched)) continue;
      *state = {work_.path(), (*next)->hash, (*next)->rank};
      improved = true;
    }
  }
  if (!work_.IsEstimating() || state->path == start.path) return absl::OkStatus();
  // After estimates, the price of the result is computed exactly.
  auto exact = work_.Price();
  if (!exact.ok()) return exact.status();
  state->rank = *exact;
  if (!(state->rank < start.rank)) *state = start;
  return absl::OkStatus();
}

absl::Status Explorer::Explore(const std::vector<SearchState>& states, SearchState* best) {
  best_ = best;
  for (const SearchState& state : states) {
    if (seen_.insert(state.hash).second) Push(state);
  }
  absl::Status status;
  while (status.ok() && !queue_.empty() && !IsOver()) {
    SearchState state = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    if (!Promising(state)) {
      if (work_.objective().memory_limit == 0) break;  // the rest of the queue costs more
      continue;
    }
    status = Expand(state);
  }
  best_ = nullptr;
  return status;
}

// Handles a new graph: descends if it is wanted or better than the best, then queues it.
absl::Status Explorer::Consider(SearchState state, bool descend) {
  if (descend || state.rank < best_->rank) {
    absl::Status descended = Descend(&state, false);
    if (state.rank < best_->rank) {
      *best_ = state;
      seen_.insert(state.hash);
    } else if (state.hash != best_->hash && !seen_.insert(state.hash).second) {
      return descended;
    }
    if (!descended.ok()) return descended;
  }
  if (Promising(state)) Push(std::move(state));
  return absl::OkStatus();
}

absl::Status Explorer::Expand(const SearchState& state) {
  work_.GoTo(state.path);
  std::map<std::string, std::vector<int>> by_rule;
  std::vector<SearchState> singles;
  for (int m = 0; m < work_.matches().size() && !IsOver(); ++m) {
    if (!work_.matches().IsAlive(m)) continue;
    const MatchedEditPtr& matched = work_.matches().matched(m);
    by_rule[matched->rule->rule().name].push_back(m);
    auto next = work_.Try(*matched, state.rank);
    if (!next.ok()) return next.status();
    if (!next->has_value()) continue;
    budget_.Count(static_cast<int64_t>(queue_.size()));
    Offer((*next)->rank, matched, state.path);
    if (!seen_.insert((*next)->hash).second) continue;
    SearchState reached{nullptr, (*next)->hash, (*next)->rank};
    if (!Promising(reached)) continue;
    reached.path =
        std::make_shared<RewritePath>(RewritePath{matched, state.path, LengthOf(state.path) + 1});
    singles.push_back(std::move(reached));
  }
  for (const auto& [name, matches] : by_rule) {
    if (matches.size() < 2 || IsOver()) continue;
    if (absl::Status s = ApplyAll(state, matches); !s.ok()) return s;
  }
  for (SearchState& next : singles) {
    if (!Promising(next)) continue;
    if (absl::Status s = Consider(std::move(next), false); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// Applies one rule at all its matches of `from`, then descends. It goes from the outputs backwards,
// so the nodes before a match are unchanged and nodes that the rule makes are not matched again.
absl::Status Explorer::ApplyAll(const SearchState& from, const std::vector<int>& matches) {
  work_.GoTo(from.path);
  for (auto m = matches.rbegin(); m != matches.rend(); ++m) {
    if (work_.matches().IsAlive(*m)) work_.Commit(work_.matches().matched(*m));
  }
  if (!seen_.insert(work_.graph().hash()).second) return absl::OkStatus();
  auto rank = work_.Price();
  if (!rank.ok()) return rank.status();
  budget_.Count(static_cast<int64_t>(queue_.size()));
  if (rank->ns == Cost::kInfinite) return absl::OkStatus();
  if (front_ != nullptr) front_->Offer(*rank, [&] { return work_.path(); });
  return Consider({work_.path(), work_.graph().hash(), *rank}, true);
}

}  // namespace lemma::optimizer
