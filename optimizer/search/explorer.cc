#include "optimizer/search/explorer.h"

#include <algorithm>
#include <string>

#include "optimizer/cost/plan_comparison.h"

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

bool SearchBudget::Stopped(bool ignore_steps) {
  if (stop_ && !(ignore_steps && stop_ == StopReason::kSteps)) return true;
  if (!ignore_steps && steps_ >= limits_.max_steps) {
    stop_ = StopReason::kSteps;
  } else if (limits_.max_seconds > 0 &&
             std::chrono::duration<double>(Clock::now() - start_).count() >= limits_.max_seconds) {
    stop_ = StopReason::kSeconds;
  }
  return stop_ && !(ignore_steps && stop_ == StopReason::kSteps);
}

// ---- The exploration ----

bool Explorer::IsOver(bool ignore_steps) {
  return budget_.Stopped(ignore_steps) || (!ignore_steps && budget_.ShareIsUsedUp());
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

absl::StatusOr<SearchState> ExactState(Workspace* work) {
  auto rank = work->Price();
  if (!rank.ok()) return rank.status();
  SearchState state{work->path(), work->graph().hash(), *rank};
  if (!work->IsEstimating()) return state;
  auto kernels = work->Kernels();
  if (!kernels.ok()) return kernels.status();
  state.kernels = *std::move(kernels);
  return state;
}

absl::StatusOr<bool> IsBetter(const SearchState& next, const SearchState& best, CostModel* costs) {
  if (next.kernels == nullptr || best.kernels == nullptr) return next.rank < best.rank;
  auto comparison = Compare(*best.kernels, *next.kernels, next.rank.ops - best.rank.ops, costs);
  if (!comparison.ok()) return comparison.status();
  return comparison->verdict == PlanComparison::Verdict::kBetter;
}

bool IsCertainlyBetter(const SearchState& next, const SearchState& first, CostModel* costs) {
  return next.kernels != nullptr && first.kernels != nullptr &&
         CannotLose(DifferenceOf(*first.kernels, *next.kernels), costs);
}

// Matches of one rule whose sources share an operator that is no output of the source, if they
// cover all its users. Rewriting one user leaves the operator to the others; rewriting all of them
// removes it. An example: the product before the products for queries, keys and values.
std::vector<std::vector<MatchedEditPtr>> Explorer::Groups() const {
  std::map<std::pair<std::string, int>, std::vector<MatchedEditPtr>> sharing;
  for (int m = 0; m < work_.matches().size(); ++m) {
    if (!work_.matches().IsAlive(m)) continue;
    const MatchedEditPtr& matched = work_.matches().matched(m);
    for (int node : matched->match.nodes) {
      if (node == matched->match.anchor || work_.graph().IsStatic(node)) continue;
      sharing[{matched->rule->rule().name, node}].push_back(matched);
    }
  }
  std::vector<std::vector<MatchedEditPtr>> groups;
  for (auto& [key, matches] : sharing) {
    if (matches.size() < 2) continue;
    const int shared = key.second;
    absl::flat_hash_set<int> rewritten, users;
    for (const MatchedEditPtr& matched : matches) {
      rewritten.insert(matched->match.nodes.begin(), matched->match.nodes.end());
    }
    for (int k = 0; k < work_.graph().Head(shared).num_outputs(); ++k) {
      for (const MatchView::Use& use : work_.graph().Users({shared, k})) {
        users.insert(use.position);
      }
    }
    const std::vector<ValueRef>& outputs = work_.graph().outputs();
    const bool is_output = std::any_of(outputs.begin(), outputs.end(),
                                       [&](const ValueRef& v) { return v.node == shared; });
    const bool covers =
        std::all_of(users.begin(), users.end(), [&](int user) { return rewritten.contains(user); });
    if (users.size() >= 2 && covers && !is_output) groups.push_back(std::move(matches));
  }
  return groups;
}

// Returns whether it applied a group.
absl::StatusOr<bool> Explorer::TakeGroups(SearchState* state, absl::flat_hash_set<uint64_t>* passed,
                                          bool ignore_steps) {
  if (!work_.IsEstimating()) return false;
  for (const std::vector<MatchedEditPtr>& group : Groups()) {
    if (IsOver(ignore_steps)) return false;
    const RewritePathPtr path = work_.path();
    auto next = work_.CommitTogether(group, state->rank);
    if (!next.ok()) return next.status();
    budget_.Tick(static_cast<int64_t>(queue_.size()));
    if (!next->has_value()) continue;
    if (!passed->insert((*next)->hash).second) {
      work_.GoTo(path);
      continue;
    }
    *state = {work_.path(), (*next)->hash, (*next)->rank};
    return true;
  }
  return false;
}

// Each pass tries each match once, including matches that arise during the pass. Passes repeat
// until one finds nothing, because a rewrite may pay off only after a later one. No graph occurs
// twice on the way: what is better within the error of the times is no order.
absl::Status Explorer::Take(SearchState* state, Workspace::Ask ask, bool ignore_steps) {
  work_.GoTo(state->path);
  absl::flat_hash_set<uint64_t> passed = {state->hash};
  for (bool improved = true; improved && !IsOver(ignore_steps);) {
    improved = false;
    for (int m = 0; m < work_.matches().size() && !IsOver(ignore_steps); ++m) {
      if (!work_.matches().IsAlive(m)) continue;
      const MatchedEditPtr matched = work_.matches().matched(m);
      auto next = work_.Try(*matched, state->rank, ask);
      if (!next.ok()) return next.status();
      if (!next->has_value()) continue;
      if (ask == Workspace::Ask::kIsCertain) {
        budget_.Tick(0);
      } else {
        budget_.Count(static_cast<int64_t>(queue_.size()));
      }
      Offer((*next)->rank, matched, work_.path());
      if (!(*next)->is_better || !passed.insert((*next)->hash).second) continue;
      if (!work_.Commit(matched)) continue;
      *state = {work_.path(), (*next)->hash, (*next)->rank};
      improved = true;
    }
    if (improved || IsOver(ignore_steps)) continue;
    auto taken = TakeGroups(state, &passed, ignore_steps);
    if (!taken.ok()) return taken.status();
    improved = *taken;
  }
  return absl::OkStatus();
}

absl::Status Explorer::DescendCertainly(SearchState* state) {
  if (state->kernels == nullptr) return absl::OkStatus();
  SearchState next = *state;
  if (absl::Status s = Take(&next, Workspace::Ask::kIsCertain, /*ignore_steps=*/true); !s.ok())
    return s;
  if (next.path == state->path) return absl::OkStatus();
  work_.GoTo(next.path);
  auto kernels = work_.Kernels();
  if (!kernels.ok()) return kernels.status();
  next.kernels = *std::move(kernels);
  if (!IsCertainlyBetter(next, *state, work_.costs())) return absl::OkStatus();
  *state = next;
  // An interruption while kernels are measured leaves the rank of before.
  auto rank = work_.Price();
  if (!rank.ok()) return rank.status();
  state->rank = *rank;
  return absl::OkStatus();
}

absl::Status Explorer::Descend(SearchState* state, bool ignore_steps) {
  SearchState start = *state;
  if (absl::Status s = Take(state, Workspace::Ask::kIsBetter, ignore_steps); !s.ok()) return s;
  if (!work_.IsEstimating()) return absl::OkStatus();
  // What was estimated is now computed exactly.
  if (start.kernels == nullptr) {
    work_.GoTo(start.path);
    auto exact = ExactState(&work_);
    if (!exact.ok()) return exact.status();
    start = *std::move(exact);
  }
  if (state->path == start.path) {
    *state = start;
    return absl::OkStatus();
  }
  work_.GoTo(state->path);
  auto exact = ExactState(&work_);
  if (!exact.ok()) return exact.status();
  *state = *std::move(exact);
  auto better = IsBetter(*state, start, work_.costs());
  if (!better.ok()) return better.status();
  if (!*better) *state = start;
  return absl::OkStatus();
}

absl::Status Explorer::ApplyEachRule(SearchState* best) {
  best_ = best;
  absl::Status status;
  for (bool improved = true; improved && status.ok() && !IsOver();) {
    const SearchState from = *best;
    work_.GoTo(from.path);
    std::map<std::string, std::vector<int>> by_rule;
    for (int m = 0; m < work_.matches().size(); ++m) {
      if (!work_.matches().IsAlive(m)) continue;
      by_rule[work_.matches().matched(m)->rule->rule().name].push_back(m);
    }
    for (const auto& [name, matches] : by_rule) {
      if (matches.size() >= 2 && status.ok() && !IsOver()) status = ApplyAll(from, matches);
    }
    improved = best->hash != from.hash;
  }
  best_ = nullptr;
  return status;
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
    const uint64_t first = state.hash;  // is among seen_
    absl::Status descended = Descend(&state, false);
    auto improves = ImprovesBest(&state);
    if (!improves.ok()) return improves.status();
    if (*improves) {
      *best_ = state;
      seen_.insert(state.hash);
    } else if (state.hash != first && state.hash != best_->hash &&
               !seen_.insert(state.hash).second) {
      return descended;
    }
    if (!descended.ok()) return descended;
  }
  if (Promising(state)) Push(std::move(state));
  return absl::OkStatus();
}

absl::StatusOr<bool> Explorer::ImprovesBest(SearchState* state) {
  if (!work_.IsEstimating()) return state->rank < best_->rank;
  // A descent that was stopped leaves an estimate.
  if (state->kernels == nullptr && work_.costs()->ListsKernels()) return false;
  return IsBetter(*state, *best_, work_.costs());
}

absl::Status Explorer::Expand(const SearchState& state) {
  work_.GoTo(state.path);
  std::map<std::string, std::vector<int>> by_rule;
  std::vector<SearchState> singles;
  for (int m = 0; m < work_.matches().size() && !IsOver(); ++m) {
    if (!work_.matches().IsAlive(m)) continue;
    const MatchedEditPtr& matched = work_.matches().matched(m);
    by_rule[matched->rule->rule().name].push_back(m);
    auto next = work_.Try(*matched, state.rank, Workspace::Ask::kRank);
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
  auto state = ExactState(&work_);
  if (!state.ok()) return state.status();
  budget_.Count(static_cast<int64_t>(queue_.size()));
  if (state->rank.ns == Cost::kInfinite) return absl::OkStatus();
  if (front_ != nullptr) front_->Offer(state->rank, [&] { return work_.path(); });
  return Consider(*std::move(state), true);
}

}  // namespace lemma::optimizer
