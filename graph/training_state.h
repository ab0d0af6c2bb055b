// Finds the state of a training step: the parameters and the optimizer's own variables.
//
// A training step is a graph, and keeps nothing between runs. It takes the state as inputs and
// returns the new state as outputs; the stepper (runtime/stepper.h) gives the outputs to the inputs
// of the next step. An output and its input are linked by their names alone, because every model
// file keeps names: the input NAME and the output NAME.next are one state variable. An input
// without such an output may be the cache of a decoder: the input past_key_values.NAME forms a
// state variable with the output present.NAME, and the input past_NAME with the output
// present_NAME.
#ifndef LEMMA_GRAPH_TRAINING_STATE_H_
#define LEMMA_GRAPH_TRAINING_STATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// A state variable: input number `input` of the graph is its value before a run, output number
// `output` its value after the run.
struct StatePair {
  int input = 0;
  int output = 0;
};

// The state variables of `graph` in the order of its inputs: pairs that are named as above and have
// equal types. A pair of unequal types, such as a cache that grows, is not a variable.
std::vector<StatePair> StatePairs(const Graph& graph);

// The name of the output with the new value of the input `name`.
std::string NextName(absl::string_view name);

}  // namespace lemma

#endif  // LEMMA_GRAPH_TRAINING_STATE_H_
