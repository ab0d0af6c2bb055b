// Chooses the order in which a graph's nodes are executed.
#ifndef LEMMA_RUNTIME_PLAN_SCHEDULE_H_
#define LEMMA_RUNTIME_PLAN_SCHEDULE_H_

#include <vector>

#include "graph/graph.h"
#include "graph/training_state.h"

namespace lemma {

// Returns every node of graph.nodes(), operands before users, in an order that needs little memory.
// Depth-first walks from the outputs through their operands give the order. The outputs are visited
// in the order of their depths, the smallest first; the depth of an output is the length of the
// longest path to it from a leaf. So a training step computes the gradient of a layer's weights
// and updates them before it continues with the layer below. An offload (graph/barrier.h) directly
// follows the node whose value it copies. A state variable's new value is computed after all
// readers of the old value if possible, so that it can take the old value's memory. The order
// depends only on the structure of the graph, and on the names that mark state variables.
std::vector<NodePtr> ScheduleNodes(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_SCHEDULE_H_
