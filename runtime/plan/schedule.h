// Chooses the order in which a graph's nodes are executed.
#ifndef LEMMA_RUNTIME_PLAN_SCHEDULE_H_
#define LEMMA_RUNTIME_PLAN_SCHEDULE_H_

#include <vector>

#include "graph/graph.h"
#include "graph/training_state.h"

namespace lemma {

// Returns every node of graph.nodes(), operands before users, in an order that needs little memory.
// It goes through the outputs by depth (the longest path from the inputs), the least depth first,
// and places the operands of each before it, depth first. So a training step computes the gradient
// of a layer's weights and updates them before it continues with the layer below. An offload
// directly follows the value it copies. A state variable's new value comes after all readers of the
// old one if possible, so that the new value can take the old one's memory. O(n log n); depends on
// the structure alone.
std::vector<NodePtr> ScheduleNodes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_SCHEDULE_H_
