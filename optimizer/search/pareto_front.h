// The Pareto front of a search. Compared with any other priced graph, a graph of the front is
// faster, needs less memory, or is equal in both.
#ifndef LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
#define LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_

#include <map>

#include "absl/functional/function_ref.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {

class ParetoFront {
 public:
  struct Point {
    Rank rank;  // with Rank::peak_bytes
    RewritePathPtr path;
  };

  // Adds a graph, unless its time is infinite or a graph of the front is at least as fast and needs
  // at most as much memory. Exception: a graph with the time and the memory of a graph of the front
  // replaces that graph if it has fewer operators. Removes the graphs that neither are faster than
  // the added graph nor need less memory. Calls `path` only if the graph is added.
  void Offer(const Rank& rank, absl::FunctionRef<RewritePathPtr()> path);

  // By time in nanoseconds: the fastest graph first, the graph with the least memory last.
  const std::map<int64_t, Point>& points() const { return points_; }

 private:
  std::map<int64_t, Point> points_;  // by time; from one to the next, the peak memory falls
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
