#include "tests/graph/onnx/onnx_text.h"

#include <onnx/defs/parser.h>

#include "gtest/gtest.h"

namespace lemma {

onnx::ModelProto OnnxModel(const std::string& graph, int opset) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  auto* entry = model.add_opset_import();
  entry->set_domain("");
  entry->set_version(opset);
  auto status = onnx::OnnxParser::Parse(*model.mutable_graph(), graph.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

void AddOnes(onnx::ModelProto* model, const std::string& name,
             std::initializer_list<int64_t> dims) {
  auto* tensor = model->mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t d : dims) {
    tensor->add_dims(d);
    count *= d;
  }
  for (int64_t i = 0; i < count; ++i) tensor->add_float_data(1.0f);
}

}  // namespace lemma
