// The Pareto front of a search: the graphs that no other graph beats in both time and memory.
#ifndef LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
#define LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_

#include <map>

#include "absl/functional/function_ref.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {

class ParetoFront {
 public:
  struct Point {
    Rank rank;  // including its peak memory
    RewritePathPtr path;
  };

  // Adds a graph, unless the front has one that is as fast and as small (at equal time and memory:
  // with as few operators). Removes graphs that it beats. Calls `path` only if the graph is added.
  void Offer(const Rank& rank, absl::FunctionRef<RewritePathPtr()> path);

  // The fastest first, the smallest last.
  const std::map<int64_t, Point>& points() const { return points_; }

 private:
  std::map<int64_t, Point> points_;  // by time; from one to the next, the peak memory falls
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
