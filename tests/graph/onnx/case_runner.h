// Runs ONNX's own operator test cases: a model, inputs, expected outputs.
#ifndef LEMMA_TESTS_GRAPH_ONNX_CASE_RUNNER_H_
#define LEMMA_TESTS_GRAPH_ONNX_CASE_RUNNER_H_

#include <cstdint>
#include <string>

namespace lemma {

// Runs the case in `directory`: model.onnx and test_data_set_I/{input,output}_J.pb. Returns one of
// these lines:
//   "pass"
//   "pass, not exported: REASON"
//   "unsupported: OP (reason)"
//   "contradiction: …" if the case's inputs do not have the types that its model declares
//   "FAIL: …" with the difference, or the reason why the case cannot be read, run or exported
// A model that passes is also exported. The exported model must satisfy ONNX's
// checker, unless its IR version is too new for the checker, and have the same
// meaning after another import.
std::string RunCase(const std::string& directory);

// Imports `count` damaged copies of the case's model, chosen by `seed`, and exports those that can
// be imported. The test is that nothing crashes. Returns "pass", or "FAIL: …" if model.onnx cannot
// be read.
std::string DamageCase(const std::string& directory, int count, uint64_t seed);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_CASE_RUNNER_H_
