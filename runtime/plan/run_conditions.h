// Finds the nodes of a graph whose results are not always read.
#ifndef LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_
#define LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma {

// A condition on a scalar truth value.
struct RunCondition {
  Value condition;
  bool holds = true;  // what the value must be
};

// For each node, by its number in `uses`: conditions that all hold whenever an output of the graph
// depends on the node's results. If one of them does not hold, the node need not be executed; if
// there are none, it is always executed. The value of each condition is computed before the node,
// and matters only if the conditions before it hold. A node has a condition if every use of its
// results is on the side of a Choice (runtime/plan/node_traits.h) that the condition selects, or by
// a node that itself has the condition. At most 8 nested conditions are looked at.
std::vector<std::vector<RunCondition>> RunConditions(const UseTable& uses, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_
