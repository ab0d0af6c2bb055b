// What could be dropped and computed again, or offloaded, in a planned graph.
#ifndef LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
#define LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_

#include <vector>

#include "optimizer/memory/rematerialized_graph.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

// A graph as WithCopies made it from `list`, and its plan.
struct PlannedCopies {
  const RematerializedGraph& copied;
  const MemoryTimeline& timeline;
  const std::vector<Recomputation>& list;
  const std::vector<bool>& is_static;  // of the original graph's nodes
};

struct RecomputationCandidate {
  int buffer = 0;                   // that it takes away from the peak
  std::vector<Recomputation> list;  // with it
};

// For each buffer that waits while kernel `peak` runs: a recomputation of its own, which may be of
// what was recomputed before, and, where others make the same, one joined with those. For each
// buffer that the kernel reads: one for each reader from then on, whose kernel may take it in. By
// buffer.
std::vector<RecomputationCandidate> RecomputationCandidates(const PlannedCopies& now, int peak);

// For each buffer of one value that waits while kernel `peak` runs: the value offloaded, and
// brought back before it is read again. By buffer.
std::vector<RecomputationCandidate> OffloadCandidates(const PlannedCopies& now, int peak);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_RECOMPUTATION_CANDIDATES_H_
