// Memory for time: values that wait long for their next use are dropped and computed again.
//
// A training step keeps most of what its forward pass computes until the backward pass asks for
// it. Recomputation (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016) is written
// into the graph itself: late users read a second copy, computed behind `barrier`s
// (graph/ops/barrier.cc) that let it begin only when it is needed. So the result is an ordinary
// graph that every back end executes, and that equals the input once barriers are taken away
// (WithoutBarriers in graph/barrier.h).
#ifndef LEMMA_OPTIMIZER_REMATERIALIZATION_H_
#define LEMMA_OPTIMIZER_REMATERIALIZATION_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost_model.h"
#include "runtime/measure.h"

namespace lemma {

struct Rematerialization {
  Graph graph;             // with the peak nearest to the limit that was found
  int64_t peak_bytes = 0;  // of its plan
  int recomputed = 0;      // operators of `graph` that are computed a second time
};

// Lowers the peak of the plan that `measurer` makes of `graph` to `limit_bytes`, if it can, in
// steps: of what waits while the peak is reached, it drops what relieves it most for the time that
// computing it again costs by `costs`. Deterministic. `progress`, if given, gets the peak after
// each step; returning false ends the search with what it has.
absl::StatusOr<Rematerialization> Rematerialize(
    const Graph& graph, int64_t limit_bytes, KernelMeasurer* measurer, CostModel* costs,
    const std::function<bool(int64_t peak_bytes)>& progress = nullptr);

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_REMATERIALIZATION_H_
