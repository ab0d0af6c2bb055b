// Finds the operator test cases of ONNX that exist twice: with the operator as one node, and with
// the function body (a graph of other operators) by which ONNX defines the operator.
#ifndef LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
#define LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma {

// The names of these cases, such as "softmax_axis_0", sorted; empty if the test data are not
// installed.
std::vector<std::string> ListOnnxPairs();

// The two models of one case.
struct OnnxPair {
  std::string problem;     // why one of the models cannot be imported; "": both were imported
  Graph a, b;              // with the operator, and with its function body
  bool at_values = false;  // whether the import needed the values of inputs to infer shapes
};
// Imports both models of the case `name`. If the import needs values of inputs to infer shapes,
// these inputs become constants with the values that they have in the case.
OnnxPair ImportOnnxPair(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_ONNX_PAIRS_H_
