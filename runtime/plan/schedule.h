// Chooses the order in which a graph's nodes are executed.
#ifndef LEMMA_RUNTIME_PLAN_SCHEDULE_H_
#define LEMMA_RUNTIME_PLAN_SCHEDULE_H_

#include <vector>

#include "graph/graph.h"
#include "graph/training_state.h"

namespace lemma {

// Returns every node of graph.nodes(), operands before users, in an order that needs little memory.
// Each value is computed as late as its first use allows, and outputs that can be computed early
// come first. So a training step computes the gradient of a layer's weights and updates them before
// it continues with the layer below. Offloads run at once. A state variable's new value comes after
// all readers of the old one if possible, so that it can replace it. O(n log n); depends on the
// structure alone.
std::vector<NodePtr> ScheduleNodes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_SCHEDULE_H_
