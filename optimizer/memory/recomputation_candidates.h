// Finds values of a planned graph that can be dropped and recomputed, or offloaded to the host.
#ifndef LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
#define LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_

#include <vector>

#include "optimizer/memory/rematerialized_graph.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

// A graph that WithCopies made from `list`, and its memory plan. The references must outlive the
// object.
struct PlannedCopies {
  const RematerializedGraph& copied;
  const MemoryTimeline& timeline;
  const std::vector<Recomputation>& list;
  const std::vector<bool>& is_static;  // by node of the original graph: depends on no input
};

struct RecomputationCandidate {
  int buffer = 0;                   // the buffer that leaves the peak
  std::vector<Recomputation> list;  // including the new recomputation
};

// Candidates for the kernel number `peak`, in order of buffers:
//   * For each buffer that waits while this kernel runs (it is live, but the kernel does not read
//     it): a separate recomputation of the buffer's values. If recomputations in `now` make the
//     same nodes or read the buffer's values: also one recomputation that is joined with them
//     (Joined in optimizer/memory/rematerialized_graph.h).
//   * For each buffer that this kernel reads: one candidate, which recomputes the values separately
//     for this and each later kernel that reads them. Each of these kernels may fuse its own
//     recomputation.
// A buffer whose values cannot be recomputed like this has no candidate.
std::vector<RecomputationCandidate> RecomputationCandidates(const PlannedCopies& now, int peak);

// A candidate for each buffer that holds one value and waits while kernel number `peak` runs: the
// value is offloaded and fetched back before its next use. In order of buffers. A buffer whose
// value cannot be offloaded has no candidate.
std::vector<RecomputationCandidate> OffloadCandidates(const PlannedCopies& now, int peak);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
