// The objective of a search: least time, least memory, or both.
#ifndef LEMMA_OPTIMIZER_COST_OBJECTIVE_H_
#define LEMMA_OPTIMIZER_COST_OBJECTIVE_H_

#include <cstdint>
#include <tuple>

#include "optimizer/cost/cost.h"

namespace lemma::optimizer {

// How good a graph is; the lower, the better.
struct Rank {
  int64_t over = 0;   // bytes by which the peak exceeds the memory limit
  int64_t value = 0;  // the minimized quantity: ns, bytes, or 1e9 times the product (kProduct)
  int64_t ns = 0;
  int ops = 0;             // the number of operators
  int64_t peak_bytes = 0;  // not compared; 0 if the objective does not need it

  static Rank OfTime(int64_t ns, int ops) { return {0, ns, ns, ops, 0}; }
  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.over, a.value, a.ns, a.ops) < std::tie(b.over, b.value, b.ns, b.ops);
  }
};

struct Objective {
  enum class Goal {
    kTime,
    kMemory,   // the peak; at equal peaks, the faster
    kProduct,  // time^(1 - w) * peak^w, where w is memory_weight
    kPareto,   // searches by time, by memory and by Deciding(), one after another; keeps a graph if
               // each other priced graph is slower or needs more memory; of graphs equal in both,
               // the first one with the fewest operators
  };
  Goal goal = Goal::kTime;
  // In bytes; 0: no limit. Graphs above the limit rank by their excess, behind all other graphs.
  int64_t memory_limit = 0;
  double memory_weight = 0.5;  // w of kProduct, 0 to 1
  // kProduct: times and peaks are divided by the time and the peak of this cost (by 1 if it is 0).
  Cost reference = {};

  // Whether only time counts, so that a price per operator suffices.
  bool IsTime() const { return goal == Goal::kTime && memory_limit == 0; }
  // For kPareto: the objective that chooses the best graph of the Pareto front, which is time if
  // there is a memory limit, else the product. For other goals: *this.
  Objective Deciding() const;
  // The rank of a graph with this cost and number of operators. The goal must not be kPareto, which
  // defines no order.
  Rank RankOf(const Cost& cost, int ops) const;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_OBJECTIVE_H_
