// Finds values of a planned graph that can be dropped and recomputed, or offloaded to the host.
#ifndef LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
#define LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_

#include <vector>

#include "optimizer/memory/rematerialized_graph.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

// A graph that WithCopies made from `list`, and its memory plan.
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

// Candidates for each buffer that waits while kernel `peak` runs: a recomputation of its own
// (possibly of recomputed values) and, if `now` already recomputes the same nodes, one that is
// joined with that recomputation. For each buffer that the kernel reads: one recomputation for each
// reader from then on, which the reader's kernel may fuse. In order of buffers.
std::vector<RecomputationCandidate> RecomputationCandidates(const PlannedCopies& now, int peak);

// Candidates for each buffer that holds one value and waits while kernel `peak` runs: the value is
// offloaded and fetched back before its next use. In order of buffers.
std::vector<RecomputationCandidate> OffloadCandidates(const PlannedCopies& now, int peak);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
