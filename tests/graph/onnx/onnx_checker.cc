#include "tests/graph/onnx/onnx_checker.h"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>

namespace lemma {

std::string CheckWithOnnx(const std::string& model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return "does not parse";
  try {
    onnx::checker::check_model(proto);
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions{true, 1, false});
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace lemma
