// Builds small ONNX models from ONNX's text form.
#ifndef LEMMA_TESTS_GRAPH_ONNX_ONNX_TEXT_H_
#define LEMMA_TESTS_GRAPH_ONNX_ONNX_TEXT_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/strings/string_view.h"

namespace lemma {

// A model of operator set `opset` with `graph`, such as
// "g (float[2] x) => (float[2] y) {y = Relu(x)}". If the graph does not parse, the test fails.
onnx::ModelProto OnnxModel(const std::string& graph, int opset = 17);

// Adds to the model's graph an initializer called `name` of shape `dims`, with floats that are
// all 1.
void AddOnes(onnx::ModelProto* model, const std::string& name, std::initializer_list<int64_t> dims);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_ONNX_TEXT_H_
