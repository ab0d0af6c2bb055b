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

// By node: the conditions that all hold whenever some output of the graph depends on the node's
// results; if one does not hold, the node need not be executed. Each condition is computed before
// the node, and matters only if those before it hold. Empty: the node is always executed. A node
// has conditions if all its uses are on one side of a Choice (runtime/plan/node_traits.h), or by
// nodes that have these conditions themselves. At most 8 nested conditions are looked at.
std::vector<std::vector<RunCondition>> RunConditions(const UseTable& uses, NodeTraitsCache& traits);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_
