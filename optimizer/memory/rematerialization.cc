#include "optimizer/memory/rematerialization.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/barrier.h"
#include "optimizer/memory/memory_reduction.h"

namespace lemma::optimizer {
namespace {

// Chooses among the reductions that the MemoryReducer offers.
class Rematerializer {
 public:
  Rematerializer(MemoryReducer* reducer, int64_t limit, std::function<bool(int64_t)> progress,
                 const Deadline& deadline)
      : reducer_(reducer), limit_(limit), progress_(std::move(progress)), deadline_(deadline) {}

  // Each descent is greedy, so several targets are tried: the limit, and 3/4 of it, where more is
  // dropped and unnecessary reductions are undone. If the limit is not reached: half of it, and a
  // sequence of targets from the input's peak downwards, because far above the limit no single
  // reduction seems to help.
  absl::StatusOr<Rematerialization> Run() {
    auto input = reducer_->With({});
    if (!input.ok()) return input.status();
    const int64_t peak = (*input)->timeline.peak_bytes;
    std::optional<ReducedGraph> best;
    for (const auto& [target, step] : {std::pair{limit_, limit_ / 16},
                                       {limit_ * 3 / 4, limit_ / 16},
                                       {limit_ / 2, limit_ / 16},
                                       {peak, peak / 32}}) {
      const bool once_more = target == limit_ * 3 / 4;
      if (best && Reaches(*best) && !once_more) break;
      target_ = target;
      auto reached = Descend(**input, std::max<int64_t>(step, 1));
      if (!reached.ok()) return reached.status();
      auto needed = Undo(*std::move(reached));
      if (!needed.ok()) return needed.status();
      if (!best || Better(*needed, *best)) best = *std::move(needed);
      if (Stopped() || best->reductions.recomputed.empty()) break;
    }
    auto result = Retry(*std::move(best));
    if (!result.ok()) return result.status();
    return ResultOf(*std::move(result));
  }

 private:
  static Rematerialization ResultOf(ReducedGraph plan) {
    Rematerialization result;
    result.peak_bytes = plan.timeline.peak_bytes;
    result.graph = std::move(plan.copied.graph);
    for (const auto& [node, origin] : plan.copied.origins) {
      result.recomputed += origin.number > 0 && !IsBarrier(*node);
    }
    for (const NodePtr& node : result.graph.nodes()) {
      result.offloaded += IsOffload(*node) && !plan.copied.origins.contains(node.get());
    }
    return result;
  }
  bool Reaches(const ReducedGraph& plan) const { return plan.timeline.peak_bytes <= limit_; }
  bool Better(const ReducedGraph& a, const ReducedGraph& b) const {
    return std::pair(std::max(limit_, a.timeline.peak_bytes), a.ms) <
           std::pair(std::max(limit_, b.timeline.peak_bytes), b.ms);
  }
  bool GoesOn(const ReducedGraph& now) {
    stopped_ = Stopped() || (progress_ && !progress_(now.timeline.peak_bytes));
    return !stopped_;
  }
  bool Stopped() {
    stopped_ = stopped_ || deadline_.Passed();
    return stopped_;
  }

  // Adds reductions until the limit is reached or none brings it nearer.
  absl::StatusOr<ReducedGraph> Descend(ReducedGraph now, int64_t step) {
    while (!Reaches(now) && !Stopped()) {
      const std::vector<int64_t> live = now.Live();
      const auto peak = std::max_element(live.begin(), live.end()) - live.begin();
      const auto candidates = reducer_->Candidates(now, static_cast<int>(peak));
      if (candidates.empty()) break;
      auto next = Best(now, candidates);
      if (!next.ok()) return next.status();
      if (next->has_value()) {
        now = **std::move(next);
        if (!GoesOn(now)) break;
      } else if (target_ - step > limit_ / 4) {
        target_ -= step;  // below the limit too: gaps between buffers take up the difference
      } else {
        break;
      }
    }
    return now;
  }

  // Removes reductions that are not needed to stay within the limit, or at the reached peak.
  absl::StatusOr<ReducedGraph> Undo(ReducedGraph now) {
    const int64_t bound = std::max(limit_, now.timeline.peak_bytes);
    for (int reduction : reducer_->ByCost(now.reductions)) {
      if (stopped_ || !GoesOn(now)) break;
      auto less = reducer_->With(now.reductions.Without(reduction));
      if (!less.ok()) return less.status();
      if (less->has_value() && (*less)->timeline.peak_bytes <= bound) now = **std::move(less);
    }
    return now;
  }

  // Removes one of the most expensive reductions and descends again, as long as that helps.
  absl::StatusOr<ReducedGraph> Retry(ReducedGraph best) {
    int left = 4;
    for (bool helped = true; helped;) {
      helped = false;
      for (int reduction : reducer_->ByCost(best.reductions)) {
        if (Stopped() || helped || left-- <= 0) break;
        auto without = reducer_->With(best.reductions.Without(reduction));
        if (!without.ok()) return without.status();
        if (!without->has_value()) continue;
        target_ = limit_ - limit_ / 8;
        auto reached = Descend(**std::move(without), std::max<int64_t>(limit_ / 16, 1));
        if (!reached.ok()) return reached.status();
        if (reached->timeline.peak_bytes > std::max(limit_, best.timeline.peak_bytes)) continue;
        auto needed = Undo(*std::move(reached));
        if (!needed.ok()) return needed.status();
        helped = Better(*needed, best);
        if (helped) best = *std::move(needed);
      }
    }
    return best;
  }

  // The bytes by which the plan exceeds the target, summed over its kernels.
  double Excess(const ReducedGraph& now) const {
    double excess = 0;
    for (int64_t bytes : now.Live()) {
      excess += static_cast<double>(std::max<int64_t>(0, bytes - target_));
    }
    return excess;
  }

  // Among the cheapest few candidates, the one that lowers the excess most per added time.
  absl::StatusOr<std::optional<ReducedGraph>> Best(const ReducedGraph& now,
                                                   const std::vector<ReductionChoice>& candidates) {
    constexpr int kTries = 8;
    constexpr double kLeastMs = 1e-4;  // a joined recomputation may lower the total time
    const double excess = Excess(now);
    std::optional<ReducedGraph> best;
    double best_rate = 0;
    int tries = 0;
    for (const ReductionChoice& candidate : candidates) {
      if (tries >= kTries && best) break;
      if (++tries > 4 * kTries || Stopped()) break;
      auto tried = reducer_->With(candidate.reductions);
      if (!tried.ok()) return tried.status();
      if (!tried->has_value()) continue;
      const double rate = (excess - Excess(**tried)) / std::max(kLeastMs, (*tried)->ms - now.ms);
      if (rate <= best_rate) continue;
      best_rate = rate;
      best = **std::move(tried);
    }
    return best;
  }

  MemoryReducer* const reducer_;
  const int64_t limit_;
  const std::function<bool(int64_t)> progress_;
  int64_t target_ = 0;
  const Deadline deadline_;
  bool stopped_ = false;  // by `progress` or the deadline
};

}  // namespace

absl::StatusOr<Rematerialization> Rematerialize(const Graph& graph, int64_t limit_bytes,
                                                KernelMeasurer* measurer, CostModel* costs,
                                                const std::function<bool(int64_t)>& progress,
                                                const Deadline& deadline) {
  MemoryReducer reducer(graph, measurer);
  if (absl::Status s = reducer.Price(costs); !s.ok()) return s;
  return Rematerializer(&reducer, limit_bytes, progress, deadline).Run();
}

}  // namespace lemma::optimizer
