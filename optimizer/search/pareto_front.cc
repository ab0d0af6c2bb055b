#include "optimizer/search/pareto_front.h"

#include <iterator>

namespace lemma::optimizer {

void ParetoFront::Offer(const Rank& rank, absl::FunctionRef<RewritePathPtr()> path) {
  if (rank.ns == Cost::kInfinite) return;
  auto after = points_.upper_bound(rank.ns);
  if (after != points_.begin()) {
    const Rank& known = std::prev(after)->second.rank;  // the smallest that is at least as fast
    const bool is_equal = known.ns == rank.ns && known.peak_bytes == rank.peak_bytes;
    if (is_equal ? known.ops <= rank.ops : known.peak_bytes <= rank.peak_bytes) return;
  }
  auto beaten = points_.lower_bound(rank.ns);
  while (beaten != points_.end() && beaten->second.rank.peak_bytes >= rank.peak_bytes) {
    beaten = points_.erase(beaten);
  }
  points_.emplace(rank.ns, Point{rank, path()});
}

}  // namespace lemma::optimizer
