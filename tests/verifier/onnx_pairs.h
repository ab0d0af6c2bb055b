// Finds ONNX's operator test cases that exist twice: with the operator, and with the function body
// that ONNX gives for it.
#ifndef LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
#define LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma {

// The names of these cases, such as "softmax_axis_0", sorted; empty if the test data are not
// installed.
std::vector<std::string> ListOnnxPairs();

struct OnnxPair {
  std::string problem;     // why a model cannot be imported; "": both were imported
  Graph a, b;              // with the operator, and with its function body
  bool at_values = false;  // whether the import needed the values of inputs to infer shapes
};
// If the import needs values of inputs to infer shapes, these inputs become constants with the
// case's values.
OnnxPair ImportOnnxPair(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
