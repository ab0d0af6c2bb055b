// What a search makes small: time, memory, or both.
#ifndef LEMMA_OPTIMIZER_COST_OBJECTIVE_H_
#define LEMMA_OPTIMIZER_COST_OBJECTIVE_H_

#include <cstdint>
#include <tuple>

#include "optimizer/cost/cost.h"

namespace lemma::optimizer {

// How good a graph is; the lower, the better.
struct Rank {
  int64_t over = 0;   // bytes of its peak above the limit
  int64_t value = 0;  // what is to be small, in the objective's unit
  int64_t ns = 0;
  int ops = 0;
  int64_t peak_bytes = 0;  // of no account; 0 where the objective does not ask for it

  static Rank OfTime(int64_t ns, int ops) { return {0, ns, ns, ops, 0}; }
  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.over, a.value, a.ns, a.ops) < std::tie(b.over, b.value, b.ns, b.ops);
  }
};

struct Objective {
  enum class Goal {
    kTime,
    kMemory,   // the peak; of equal peaks the faster
    kProduct,  // time^(1 - w) * peak^w, w being memory_weight
    kPareto,   // each of these; of all graphs that were priced, those that no other one beats in
               // both
  };
  Goal goal = Goal::kTime;
  int64_t memory_limit = 0;    // bytes; 0: none. Graphs above it rank by how far they are above it
  double memory_weight = 0.5;  // 0 to 1
  Cost reference = {};         // kProduct: of the graph that counts as 1

  // Whether time is all that counts, so that a price of operators will do.
  bool IsTime() const { return goal == Goal::kTime && memory_limit == 0; }
  // The one by which the best of a front is chosen; itself if it is no front that is wanted.
  Objective Deciding() const;
  // Not for kPareto, which is no order.
  Rank RankOf(const Cost& cost, int ops) const;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_OBJECTIVE_H_
