// Trades time for memory: values that wait long for their next use are dropped and recomputed or,
// on a device with its own memory, kept in host memory (offloaded) and copied back.
//
// A training step keeps most results of its forward pass until the backward pass needs them.
// Recomputation (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016) is written
// into the graph itself (optimizer/memory/rematerialized_graph.h). Late users read a second copy of
// a value. `barrier`s (graph/ops/training/barrier.cc) delay the computation of the copy until it is
// needed. So the result is an ordinary graph that every back end executes. It equals the input once
// barriers and offloads are removed (WithoutBarriers in graph/barrier.h).
// optimizer/memory/memory_reduction.h lists the possible reductions; this file chooses among them.
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
  Graph graph;
  int64_t peak_bytes = 0;  // of the plan of `graph`
  int recomputed = 0;      // number of operators of `graph` that are copies of other operators
  int offloaded = 0;       // number of values of `graph` that are kept in host memory
};

// Lowers the peak of the plan that `measurer` makes of `graph` to `limit_bytes`, if possible. In
// each step it tries reductions of values that are live at the peak; reductions that add the least
// time (by `costs`) per byte are tried first. It takes the reduction that lowers the memory in use
// most per added time. At the end it removes unnecessary reductions. It runs several such searches
// and returns the result that reaches the limit with the least added time or, if none reaches the
// limit, the result with the least peak. Deterministic; makes hundreds to thousands of plans.
// `progress`, if given, gets the peak after each step; if it returns false, the search ends with
// the best result so far. The deadline, which is checked before each plan, ends the search in the
// same way. Errors are those of `measurer` and `costs`.
absl::StatusOr<Rematerialization> Rematerialize(
    const Graph& graph, int64_t limit_bytes, KernelMeasurer* measurer, CostModel* costs,
    const std::function<bool(int64_t peak_bytes)>& progress = nullptr,
    const Deadline& deadline = Deadline());

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_REMATERIALIZATION_H_
