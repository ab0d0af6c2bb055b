// Finds the nodes of a graph whose results are not always read.
#ifndef LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_
#define LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma {

// The condition that a scalar bool of the graph has a given value.
struct RunCondition {
  Value condition;
  bool holds = true;  // the value that `condition` must have
};

// For each node, by its number in `uses`: a list of conditions. The node needs to be executed only
// if all of them hold; a node with an empty list is always executed. Each condition is computed
// before the node, and needs to be computed only if the conditions before it in the list hold.
//
// A node has a condition if no result of the node is an output of the graph,
// and each use of its results is one of two kinds: an input of a Choice
// (runtime/plan/node_traits.h) that is read only if the condition holds, or an
// input of a node that has the condition itself. If the uses have several
// conditions each, only those are found with which the lists of all uses begin.
// At most 8 nested conditions are found.
std::vector<std::vector<RunCondition>> RunConditions(const UseTable& uses, NodeTraitsCache& traits);
// The same with the choices that `choice_of` gives for operators.
std::vector<std::vector<RunCondition>> RunConditions(
    const UseTable& uses, absl::FunctionRef<std::optional<Choice>(const Node&)> choice_of);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_RUN_CONDITIONS_H_
