// The state of a training step: parameters and what an optimizer keeps of them.
//
// A step is a graph without memory of its own. It takes the state as inputs and gives the new state
// as outputs; whoever executes it carries one over to the other. Which output belongs to which
// input is said by their names alone, since model files keep these: the input NAME and the output
// NAME.next are one variable.
#ifndef LEMMA_GRAPH_TRAINING_STATE_H_
#define LEMMA_GRAPH_TRAINING_STATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// A state variable: input `input` of the graph holds its value before a run, output `output` its
// value after it.
struct StatePair {
  int input = 0;
  int output = 0;
};

// The state variables of `graph`, in the order of its inputs: names as above, and equal types.
std::vector<StatePair> StatePairs(const Graph& graph);

// The name of the output that gives the new value of the input `name`.
std::string NextName(absl::string_view name);

}  // namespace lemma

#endif  // LEMMA_GRAPH_TRAINING_STATE_H_
