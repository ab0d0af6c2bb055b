#include "optimizer/backtracking.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/hash.h"

namespace lemma {
namespace {

using Clock = std::chrono::steady_clock;

// The rewrites that led to a graph, newest first; shared between graphs.
struct Trail {
  RewriteStep step;
  std::shared_ptr<const Trail> before;
  int length = 1;
};
using TrailPtr = std::shared_ptr<const Trail>;

std::vector<RewriteStep> StepsOf(TrailPtr trail) {
  std::vector<RewriteStep> steps;
  for (; trail != nullptr; trail = trail->before) steps.insert(steps.begin(), trail->step);
  return steps;
}

struct State {
  Graph graph;
  uint64_t hash = 0;
  Cost cost;
  TrailPtr trail;

  auto Rank() const { return std::make_tuple(cost.ns(), graph.num_ops(), cost.peak_bytes()); }
  bool BetterThan(const State& other) const { return Rank() < other.Rank(); }
};

// Names a rewrite in terms that survive changes elsewhere in the graph: a later graph in which the
// anchor is the same has, most likely, the same rewrite.
class RewriteKeys {
 public:
  explicit RewriteKeys(const MatchIndex& index) : index_(index) {}
  // To be called for each rewrite once, in order.
  uint64_t Next(const Rewrite& rewrite) {
    uint64_t key = HashCombine(HashString(rewrite.name()), index_.node(rewrite.anchor())->hash());
    return HashCombine(key, static_cast<uint64_t>(seen_[key]++));
  }

 private:
  const MatchIndex& index_;
  absl::flat_hash_map<uint64_t, int> seen_;
};

class Backtracking : public Search {
 public:
  Backtracking(const RewriteSource* source, CostModel* costs, const BacktrackingOptions& options)
      : source_(*source), costs_(*costs), options_(options) {}

  absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) override {
    start_ = Clock::now();
    stop_.reset();
    steps_ = 0;
    seen_.clear();
    queue_.clear();
    on_progress_ = &progress;
    State initial{graph, graph.StructuralHash(), {}, nullptr};
    auto cost = costs_.CostOf(graph);
    if (!cost.ok()) return cost.status();
    initial.cost = *cost;
    initial_cost_ = *cost;
    best_ = initial;
    if (absl::Status s = Descend(&best_, /*first=*/true); !s.ok()) return s;
    const State descended = best_;
    seen_ = {initial.hash, best_.hash};
    Push(initial);
    if (best_.hash != initial.hash) Push(best_);
    while (!queue_.empty() && !Stopped()) {
      State state = std::move(queue_.begin()->second);
      queue_.erase(queue_.begin());
      if (!Promising(state)) break;  // and so is none of the rest
      if (absl::Status s = Expand(state); !s.ok()) return s;
    }
    SearchResult result;
    result.best = best_.graph;
    result.best_cost = best_.cost;
    result.initial_cost = initial.cost;
    result.rewrites = StepsOf(best_.trail);
    result.descended = descended.graph;
    result.descended_rewrites = StepsOf(descended.trail);
    result.stop = stop_.value_or(StopReason::kExhausted);
    result.steps = steps_;
    on_progress_ = nullptr;
    return result;
  }

 private:
  // The first descent is not counted against the steps.
  bool Stopped(bool first = false) {
    if (stop_) return true;
    if (!first && steps_ >= options_.limits.max_steps) {
      stop_ = StopReason::kSteps;
    } else if (options_.limits.max_seconds > 0 &&
               std::chrono::duration<double>(Clock::now() - start_).count() >=
                   options_.limits.max_seconds) {
      stop_ = StopReason::kSeconds;
    }
    return stop_.has_value();
  }

  void Report() {
    if (!*on_progress_) return;
    SearchProgress progress;
    progress.steps = steps_;
    progress.queued = static_cast<int64_t>(queue_.size());
    progress.initial = initial_cost_;
    progress.best = best_.cost;
    progress.num_rewrites = best_.trail == nullptr ? 0 : best_.trail->length;
    if (!(*on_progress_)(progress)) stop_ = StopReason::kCancelled;
  }

  bool Promising(const State& state) const {
    return !state.cost.is_infinite() && !(best_.cost.Scaled(options_.alpha) < state.cost);
  }

  void Push(State state) {
    auto rank = std::make_tuple(state.cost.ns(), state.graph.num_ops(), sequence_++);
    queue_.emplace(rank, std::move(state));
  }

  // The graph after `rewrite`, its cost not yet known; nullopt if the rewrite does not apply or
  // changes nothing.
  static absl::StatusOr<std::optional<State>> After(const State& state, const Rewrite& rewrite) {
    auto graph = rewrite.Apply();
    if (absl::IsFailedPrecondition(graph.status())) return std::optional<State>();
    if (!graph.ok()) return graph.status();
    State next;
    next.hash = graph->StructuralHash();
    if (next.hash == state.hash) return std::optional<State>();
    next.graph = *std::move(graph);
    const int length = state.trail == nullptr ? 0 : state.trail->length;
    next.trail = std::make_shared<Trail>(Trail{
        {rewrite.name(), rewrite.Describe(), state.hash, next.hash}, state.trail, length + 1});
    return std::optional<State>(std::move(next));
  }

  absl::Status Price(State* state) {
    ++steps_;
    Report();
    auto cost = costs_.CostOf(state->graph);
    if (!cost.ok()) return cost.status();
    state->cost = *cost;
    return absl::OkStatus();
  }

  // Calls `visit` with the graph after each rewrite of `state`; it returns whether to go on.
  template <class Wanted, class Visit>
  absl::Status ForEachAfter(const State& state, const Wanted& wanted, const Visit& visit) {
    const MatchIndex index(state.graph);
    RewriteKeys keys(index);
    absl::Status status;
    source_.ForEach(index, [&](const Rewrite& rewrite) {
      if (!wanted(rewrite, keys.Next(rewrite))) return true;
      auto next = After(state, rewrite);
      status = next.status();
      if (!status.ok()) return false;
      if (!next->has_value()) return true;
      absl::StatusOr<bool> go_on = visit(*std::move(*next));
      status = go_on.status();
      return go_on.ok() && *go_on;
    });
    return status;
  }

  // Rewrites are tried from the inputs on, each once per pass; passes repeat until one finds
  // nothing, since a rewrite may pay only after a later one.
  absl::Status Descend(State* state, bool first) {
    for (bool improved_in_pass = true; improved_in_pass && !Stopped(first);) {
      improved_in_pass = false;
      absl::flat_hash_set<uint64_t> tried;
      for (bool improved = true; improved && !Stopped(first);) {
        improved = false;
        std::optional<State> better;
        auto untried = [&](const Rewrite&, uint64_t key) { return tried.insert(key).second; };
        absl::Status s = ForEachAfter(*state, untried, [&](State next) -> absl::StatusOr<bool> {
          if (absl::Status priced = Price(&next); !priced.ok()) return priced;
          if (next.BetterThan(*state)) better = std::move(next);
          return !better.has_value() && !Stopped(first);
        });
        if (!s.ok()) return s;
        if (better) {
          *state = *std::move(better);
          if (first) best_ = *state;
          improved = improved_in_pass = true;
        }
      }
    }
    return absl::OkStatus();
  }

  // Takes note of a new graph with its cost known.
  absl::Status Consider(State state, bool descend) {
    if (descend || state.BetterThan(best_)) {
      if (absl::Status s = Descend(&state, false); !s.ok()) return s;
      if (state.hash != best_.hash && !seen_.insert(state.hash).second && !state.BetterThan(best_))
        return absl::OkStatus();
    }
    if (state.BetterThan(best_)) best_ = state;
    if (Promising(state)) Push(std::move(state));
    return absl::OkStatus();
  }

  absl::Status Expand(const State& state) {
    std::map<std::string, int> matches;
    std::vector<State> singles;
    auto any = [&](const Rewrite& rewrite, uint64_t) {
      ++matches[rewrite.name()];
      return true;
    };
    absl::Status s = ForEachAfter(state, any, [&](State next) -> absl::StatusOr<bool> {
      if (seen_.insert(next.hash).second) singles.push_back(std::move(next));
      return true;
    });
    if (!s.ok()) return s;
    for (const auto& [name, count] : matches) {
      if (count < 2 || Stopped()) continue;
      if (absl::Status e = Everywhere(state, name); !e.ok()) return e;
    }
    for (State& next : singles) {
      if (Stopped()) break;
      if (absl::Status p = Price(&next); !p.ok()) return p;
      if (!Promising(next)) continue;
      if (absl::Status c = Consider(std::move(next), false); !c.ok()) return c;
    }
    return absl::OkStatus();
  }

  // Applies the rule `name` wherever it matches in `from`, then descends. From the outputs back:
  // what is computed before an anchor stays as it was, so the remaining matches keep their keys,
  // and what the rule itself makes is not matched again.
  absl::Status Everywhere(const State& from, const std::string& name) {
    State state = from;
    std::vector<uint64_t> keys;
    auto collect = [&](const Rewrite& rewrite, uint64_t key) {
      if (rewrite.name() == name) keys.push_back(key);
      return false;
    };
    absl::Status s = ForEachAfter(from, collect, [](State) { return true; });
    if (!s.ok()) return s;
    for (auto key = keys.rbegin(); key != keys.rend() && !Stopped(); ++key) {
      auto wanted = [&](const Rewrite&, uint64_t k) { return k == *key; };
      std::optional<State> after;
      s = ForEachAfter(state, wanted, [&](State next) {
        after = std::move(next);
        return false;
      });
      if (!s.ok()) return s;
      if (after) state = *std::move(after);
    }
    if (!seen_.insert(state.hash).second) return absl::OkStatus();
    if (absl::Status s = Price(&state); !s.ok()) return s;
    if (state.cost.is_infinite()) return absl::OkStatus();
    return Consider(std::move(state), true);
  }

  const RewriteSource& source_;
  CostModel& costs_;
  const BacktrackingOptions options_;

  // Of the run in progress.
  using Rank = std::tuple<int64_t, int, int64_t>;  // cost, operators, age
  const OnProgress* on_progress_ = nullptr;
  Clock::time_point start_;
  std::optional<StopReason> stop_;
  int64_t steps_ = 0;
  int64_t sequence_ = 0;
  Cost initial_cost_;
  State best_;
  std::map<Rank, State> queue_;
  absl::flat_hash_set<uint64_t> seen_;
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
