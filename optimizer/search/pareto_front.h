// The graphs of a search that no other one beats in time and in memory.
#ifndef LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
#define LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_

#include <map>

#include "absl/functional/function_ref.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {

class ParetoFront {
 public:
  struct Point {
    Rank rank;  // with its peak
    RewritePathPtr path;
  };

  // Takes a graph if none of the front is as fast and as small, or is equally so with fewer
  // operators; those that it beats go. `path` is asked for only then.
  void Offer(const Rank& rank, absl::FunctionRef<RewritePathPtr()> path);

  // The fastest first, the smallest last.
  const std::map<int64_t, Point>& points() const { return points_; }

 private:
  std::map<int64_t, Point> points_;  // by time; peaks fall
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_PARETO_FRONT_H_
