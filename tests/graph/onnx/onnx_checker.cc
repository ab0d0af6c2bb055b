#include "tests/graph/onnx/onnx_checker.h"

#include <onnx/checker.h>
#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>

namespace lemma {
namespace {

// Types by value's name: of inputs and initializers, and what inference found.
std::map<std::string, onnx::DataType> TypesOf(const onnx::GraphProto& graph) {
  std::map<std::string, onnx::DataType> types;
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& info : *list) {
      types[info.name()] = onnx::Utils::DataTypeUtils::ToType(info.type());
    }
  }
  for (const auto& tensor : graph.initializer()) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    types[tensor.name()] = onnx::Utils::DataTypeUtils::ToType(type);
  }
  return types;
}

// The first operand whose type its operator does not take, which neither check above looks at.
std::string WrongOperand(const onnx::ModelProto& model) {
  std::map<std::string, int> opsets;
  for (const auto& entry : model.opset_import()) opsets[entry.domain()] = entry.version();
  const auto types = TypesOf(model.graph());
  for (const auto& node : model.graph().node()) {
    const auto* schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), opsets[node.domain()], node.domain());
    if (schema == nullptr) continue;
    for (int i = 0; i < node.input_size(); ++i) {
      const auto type = types.find(node.input(i));
      if (type == types.end()) continue;
      const int last = static_cast<int>(schema->inputs().size()) - 1;  // may be variadic
      const auto& taken = schema->inputs()[std::min(i, last)].GetTypes();
      if (taken.count(type->second) == 0) {
        return node.op_type() + ": operand " + std::to_string(i) + " is " + *type->second;
      }
    }
  }
  return "";
}

}  // namespace

std::string CheckWithOnnx(const std::string& model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return "does not parse";
  try {
    onnx::checker::check_model(proto);
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions{true, 1, false});
    return WrongOperand(proto);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace lemma
