// Runs the checker of the ONNX project on a model.
#ifndef LEMMA_TESTS_GRAPH_ONNX_ONNX_CHECKER_H_
#define LEMMA_TESTS_GRAPH_ONNX_ONNX_CHECKER_H_

#include <string>

namespace lemma {

// "" if the serialized `model` passes onnx.checker, ONNX's shape inference finds no contradiction,
// and each operator accepts its operands' types; otherwise the error message.
std::string CheckWithOnnx(const std::string& model);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_ONNX_CHECKER_H_
