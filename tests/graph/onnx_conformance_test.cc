// Every operator goes out to ONNX and comes back meaning the same.
#include <cmath>
#include <limits>

#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_checker.h"

namespace lemma {
namespace {

class OnnxRoundTrip : public testing::TestWithParam<OpExample> {};

absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph,
                                             const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(inputs);
}

struct ExampleGraph {
  Graph graph;
  std::vector<Tensor> values;
};

ExampleGraph GraphOf(const OpExample& example) {
  GraphBuilder b("g");
  std::vector<Value> inputs;
  ExampleGraph result;
  const auto numbers = ExampleValues(example);
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    inputs.push_back(b.Input(absl::StrCat("x", i), example.inputs[i]));
    result.values.push_back(*Tensor::FromDoubles(example.inputs[i], numbers[i]));
  }
  auto outputs = b.Ops(example.op->name, inputs, example.attrs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return result;
  for (size_t i = 0; i < outputs->size(); ++i) b.Output(absl::StrCat("y", i), (*outputs)[i]);
  auto graph = std::move(b).Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (graph.ok()) result.graph = *std::move(graph);
  return result;
}

// Exports the graph at the operator set, imports it again and compares.
void CheckRoundTrip(const ExampleGraph& example, int opset) {
  const Graph& graph = example.graph;
  ExportOptions options;
  options.info.opset = opset;
  auto bytes = ExportOnnx(graph, options);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  if (opset <= 17) {  // the last that the checker knows
    EXPECT_EQ(CheckWithOnnx(*bytes), "");
  }
  auto back = ImportOnnxBytes(*bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_GE(back->info.opset, opset);
  EXPECT_LE(back->info.opset, std::max(opset, 17));
  if (back->graph.StructuralHash() == graph.StructuralHash()) return;
  auto before = Evaluate(graph, example.values), after = Evaluate(back->graph, example.values);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status() << "\n" << PrintGraph(back->graph);
  ASSERT_EQ(before->size(), after->size());
  for (size_t i = 0; i < before->size(); ++i) {
    ASSERT_EQ((*before)[i].type(), (*after)[i].type()) << PrintGraph(back->graph);
    for (int64_t j = 0; j < (*before)[i].size(); ++j) {
      const double want = (*before)[i].AtDouble(j), got = (*after)[i].AtDouble(j);
      if (std::isnan(want) && std::isnan(got)) continue;
      EXPECT_NEAR(got, want, 1e-5 * (1 + std::fabs(want))) << PrintGraph(back->graph);
    }
  }
}

TEST_P(OnnxRoundTrip, MeansTheSame) {
  const ExampleGraph example = GraphOf(GetParam());
  ASSERT_TRUE(GetParam().op->onnx_export != nullptr) << "no form in ONNX";
  // Dilated average pooling came to ONNX only later.
  const auto status = ExportOnnx(example.graph).status();
  if (absl::IsUnimplemented(status) && GetParam().op->name == "avg_pool2d") return;
  CheckRoundTrip(example, 17);
}

// In the forms that its operators have there or, where a set lacks them, in a later set.
TEST_P(OnnxRoundTrip, MeansTheSameInEveryOperatorSet) {
  const ExampleGraph example = GraphOf(GetParam());
  if (!ExportOnnx(example.graph).ok()) return;  // the test above says why
  for (int opset = 1; opset <= 26; ++opset) {
    if (opset == 17) continue;
    SCOPED_TRACE(absl::StrCat("operator set ", opset));
    CheckRoundTrip(example, opset);
  }
}

// As numpy.mod, by ONNX's Mod, which has the dividend's sign.
TEST(OnnxRoundTripOfValues, ModOfFloats) {
  const Graph graph = *ParseGraph("graph g(a: f32[8], b: f32[8]) { y = mod(a, b) return y }");
  const auto back = ImportOnnxBytes(*ExportOnnx(graph));
  ASSERT_TRUE(back.ok()) << back.status();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const TensorType type{DType::kF32, {8}};
  const std::vector<double> a = {5, -5, 5, -5, -1, 1, 6, 3e7},
                            b = {3, 3, -3, -3, kInf, kInf, -3, 7};
  const std::vector<double> expected = {2, 1, -1, -2, kInf, 1, 0, 2};
  for (const Graph& g : {graph, back->graph}) {
    const auto y = Evaluate(g, {*Tensor::FromDoubles(type, a), *Tensor::FromDoubles(type, b)});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].ToDoubles(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, OnnxRoundTrip, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<OpExample>& info) {
                           return absl::StrCat(info.param.op->name, "_", info.index);
                         });

}  // namespace
}  // namespace lemma
