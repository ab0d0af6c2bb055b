#include "graph/onnx/functions/own_functions.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_checker.h"

namespace lemma {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kText[] = "graph g(x: f32[2]) {\n  y = round_tf32(x)\n  return y\n}\n";

onnx::ModelProto Export(int opset = 17) {
  ExportOptions options;
  options.info.opset = opset;
  auto bytes = ExportOnnx(*ParseGraph(kText), options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(CheckWithOnnx(*bytes), "");
  onnx::ModelProto model;
  model.ParseFromString(*bytes);
  return model;
}

std::string Imported(const onnx::ModelProto& model) {
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  return imported.ok() ? PrintGraph(imported->graph) : std::string(imported.status().message());
}

TEST(OwnFunctions, AreReadAsTheOperator) {
  for (const int opset : {11, 13, 15, 17}) {
    const onnx::ModelProto model = Export(opset);
    ASSERT_EQ(model.functions_size(), 1);
    EXPECT_EQ(model.functions(0).opset_import(0).version(), std::max(opset, 13));
    EXPECT_GE(model.ir_version(), 8);
    EXPECT_EQ(Imported(model), kText);
    // A second trip keeps the one function.
    auto again = ExportOnnx(ImportOnnxBytes(model.SerializeAsString())->graph);
    onnx::ModelProto twice;
    twice.ParseFromString(*again);
    EXPECT_EQ(twice.functions_size(), 1);
  }
}

TEST(OwnFunctions, KeptNodesKeepTheFunction) {
  const auto imported = ImportOnnxBytes(Export().SerializeAsString());
  ExportOptions options;
  options.info = imported->info;
  auto bytes = ExportOnnx(imported->graph, options);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(CheckWithOnnx(*bytes), "");
  onnx::ModelProto model;
  model.ParseFromString(*bytes);
  EXPECT_EQ(model.functions_size(), 1);
  EXPECT_EQ(Imported(model), kText);
}

// The name alone proves nothing: another function of this name has its own meaning, and no model
// can contain both.
TEST(OwnFunctions, OthersOfTheNameKeepTheirMeaning) {
  onnx::ModelProto model = Export();
  onnx::FunctionProto* function = model.mutable_functions(0);
  EXPECT_TRUE(IsOwnFunction(*function));
  onnx::NodeProto* last = function->mutable_node(function->node_size() - 1);
  last->set_op_type("Add");
  last->mutable_input()->DeleteSubrange(0, 1);
  EXPECT_FALSE(IsOwnFunction(*function));
  EXPECT_THAT(Imported(model), Not(HasSubstr("round_tf32")));
  EXPECT_THAT(Imported(model), HasSubstr("add("));
  ExportOptions options;
  options.info = ImportOnnxBytes(model.SerializeAsString())->info;
  EXPECT_THAT(std::string(ExportOnnx(*ParseGraph(kText), options).status().message()),
              HasSubstr("another function lemma.RoundTf32; rename it"));
}

// Every exponent, with significands at and beside halfway cases, borders, NaN and infinities.
std::vector<float> Values() {
  std::vector<float> values;
  for (uint32_t high = 0; high < 512; ++high) {
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x2fffu,
                         0x7fefffu, 0x7fe000u, 0x7ff000u, 0x7fffffu, 0x400000u, 0x155555u}) {
      const uint32_t bits = high << 23 | low;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      values.push_back(value);
    }
  }
  return values;
}

// The body in plain ONNX operators against the operator, in both back ends.
TEST(OwnFunctions, BodiesComputeTheOperator) {
  const std::vector<float> values = Values();
  const auto size = static_cast<int64_t>(values.size());
  const Tensor input = *Tensor::FromDoubles({DType::kF32, {size}},
                                            std::vector<double>(values.begin(), values.end()));
  onnx::ModelProto model = Export();
  for (auto* port :
       {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    port->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
        size);
  }
  model.mutable_graph()->clear_value_info();
  const Graph op = ImportOnnxBytes(model.SerializeAsString())->graph;
  model.mutable_functions(0)->set_name("Other");
  model.mutable_graph()->mutable_node(0)->set_op_type("Other");
  const Graph body = ImportOnnxBytes(model.SerializeAsString())->graph;
  ASSERT_EQ(op.num_ops(), 1);
  ASSERT_GT(body.num_ops(), 10);
  const auto run = [&](Backend& backend, const Graph& graph) {
    auto outputs = (*backend.Compile(graph, {}))->Run({&input, 1});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return (*outputs)[0].ToDoubles();
  };
  const auto cpu = MakeCpuBackend(), reference = MakeReferenceBackend();
  const std::vector<double> results[] = {run(*cpu, op), run(*reference, op), run(*cpu, body),
                                         run(*reference, body)};
  for (size_t i = 0; i < values.size(); ++i) {
    for (const std::vector<double>& result : results) {
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(result[i]));
        continue;
      }
      // By the bits, as tensor cores get them.
      uint32_t bits;
      std::memcpy(&bits, &values[i], sizeof(bits));
      bits = (bits + 0x1000u) & 0xffffe000u;
      float expected;
      std::memcpy(&expected, &bits, sizeof(expected));
      ASSERT_EQ(result[i], expected) << values[i] << " in way " << &result - results;
      ASSERT_EQ(std::signbit(result[i]), std::signbit(expected)) << values[i];
    }
  }
}

}  // namespace
}  // namespace lemma
