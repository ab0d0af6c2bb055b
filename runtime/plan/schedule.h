// The order in which a graph's nodes are executed.
#ifndef LEMMA_RUNTIME_PLAN_SCHEDULE_H_
#define LEMMA_RUNTIME_PLAN_SCHEDULE_H_

#include <vector>

#include "graph/graph.h"
#include "graph/training_state.h"

namespace lemma {

// Every node of graph.nodes(), operands before users, in an order that needs little memory: each
// value as late as its first use allows, outputs that are early at hand first, so that a training
// step computes the gradient of a layer's weights and updates them before it goes on to the layer
// below. What is offloaded is so at once. A state variable's new value comes after all that reads
// the old one, where that is possible, so that it can take its place. O(n log n); depends on
// structure alone.
std::vector<NodePtr> ScheduleNodes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_SCHEDULE_H_
