// Finds ONNX's operator test cases that exist twice: as an operator and as its function body.
#ifndef LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
#define LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma {

// "softmax_axis_0", …, sorted; empty if the test data are not installed.
std::vector<std::string> ListOnnxPairs();

struct OnnxPair {
  std::string problem;     // "": both were imported
  Graph a, b;              // the operator and its function body
  bool at_values = false;  // shapes depend on the inputs' values, which are then those of the case
};
// If the import needs values of inputs to infer shapes, it gets the case's values.
OnnxPair ImportOnnxPair(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
