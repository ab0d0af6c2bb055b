// Memory for time: values that wait long for their next use are dropped and computed again.
//
// A training step keeps most of what its forward pass computes until the backward pass asks for
// it. Recomputation (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016) is written
// into the graph itself: late users read another copy, computed behind `barrier`s
// (graph/ops/training/barrier.cc) that let it begin only when it is needed
// (optimizer/memory/rematerialized_graph.h). So the result is an ordinary graph that every back end
// executes, and that equals the input once barriers are taken away (WithoutBarriers in
// graph/barrier.h). What can be done about a value that waits is told by
// optimizer/memory/memory_reduction.h, and chosen here.
#ifndef LEMMA_OPTIMIZER_MEMORY_REMATERIALIZATION_H_
#define LEMMA_OPTIMIZER_MEMORY_REMATERIALIZATION_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

struct Rematerialization {
  Graph graph;             // with the peak nearest to the limit that was found
  int64_t peak_bytes = 0;  // of its plan
  int recomputed = 0;      // operators of `graph` that are copies of others
  int offloaded = 0;       // values of `graph` that are kept in the host's memory
};

// Lowers the peak of the plan that `measurer` makes of `graph` to `limit_bytes`, if it can, in
// steps: of what waits while the peak is reached, it drops what relieves it most for the time that
// computing it again costs by `costs`. In the end it takes back what was not needed. Of several
// such searches the result that reaches the limit at the least cost counts, or that of the least
// peak. Deterministic; some hundred to some thousand plans. `progress`, if given, gets the peak
// after each step; returning false ends the search with the best it has, and so does the deadline,
// which is looked at before each plan.
absl::StatusOr<Rematerialization> Rematerialize(
    const Graph& graph, int64_t limit_bytes, KernelMeasurer* measurer, CostModel* costs,
    const std::function<bool(int64_t peak_bytes)>& progress = nullptr,
    const Deadline& deadline = Deadline());

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_REMATERIALIZATION_H_
