// The state of a training step: the parameters and the optimizer's own variables.
//
// A training step is a graph without memory. It takes the state as inputs and returns the new state
// as outputs; the executor copies the outputs to the inputs for the next step. Only names link an
// output to its input, since names survive in model files: the input NAME and the output NAME.next
// are one variable.
#ifndef LEMMA_GRAPH_TRAINING_STATE_H_
#define LEMMA_GRAPH_TRAINING_STATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

// A state variable: the graph's input `input` holds its value before a run, the output `output` its
// value after the run.
struct StatePair {
  int input = 0;
  int output = 0;
};

// The state variables of `graph` in the order of its inputs: pairs named as above with equal types.
std::vector<StatePair> StatePairs(const Graph& graph);

// The name of the output with the new value of the input `name`.
std::string NextName(absl::string_view name);

}  // namespace lemma

#endif  // LEMMA_GRAPH_TRAINING_STATE_H_
