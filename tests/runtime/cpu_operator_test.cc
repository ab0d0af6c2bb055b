// Every example of the operator table: the CPU back end against the reference.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

class CpuOperator : public testing::TestWithParam<OpExample> {};

// `first_input`: number of operands that are inputs; the others are weights.
Graph GraphOfExample(const OpExample& example, size_t first_weight) {
  const auto values = ExampleValues(example);
  GraphBuilder builder("example");
  std::vector<Value> operands;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    operands.push_back(i < first_weight ? builder.Input(name, example.inputs[i])
                                        : builder.Weight(name, *Tensor::FromDoubles(
                                                                   example.inputs[i], values[i])));
  }
  auto outputs = builder.Ops(example.op->name, operands, example.attrs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  for (size_t k = 0; k < outputs->size(); ++k) builder.Output(absl::StrCat("y", k), (*outputs)[k]);
  return *std::move(builder).Build();
}

void ExpectMatches(const OpExample& example, size_t first_weight) {
  const Graph graph = GraphOfExample(example, first_weight);
  const auto values = ExampleValues(example);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    inputs.push_back(*Tensor::FromDoubles(example.inputs[i], values[i]));
  }
  ExpectCpuMatchesReference(graph, inputs);
}

// Every operand of rank 2 or more is a view of an input with the dimensions reversed: no kernel may
// assume a layout of values that it did not make.
TEST_P(CpuOperator, MatchesReferenceOnViews) {
  const OpExample& example = GetParam();
  GraphBuilder builder("g");
  std::vector<Value> operands;
  std::vector<Tensor> inputs;
  const auto values = ExampleValues(example);
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    TensorType type = example.inputs[i];
    std::reverse(type.shape.begin(), type.shape.end());
    std::vector<int64_t> perm(type.shape.size());
    std::iota(perm.rbegin(), perm.rend(), 0);
    const Value input = builder.Input(absl::StrCat("x", i), type);
    operands.push_back(*builder.Op("transpose", {input}, {{"perm", perm}}));
    inputs.push_back(*Tensor::FromDoubles(type, values[i]));
  }
  auto outputs = builder.Ops(example.op->name, operands, example.attrs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (size_t k = 0; k < outputs->size(); ++k) builder.Output(absl::StrCat("y", k), (*outputs)[k]);
  ExpectCpuMatchesReference(*std::move(builder).Build(), inputs);
}

TEST_P(CpuOperator, MatchesReference) { ExpectMatches(GetParam(), GetParam().inputs.size()); }
TEST_P(CpuOperator, MatchesReferenceWithWeights) { ExpectMatches(GetParam(), 1); }

std::string NameOf(const testing::TestParamInfo<OpExample>& info) {
  return absl::StrCat(info.param.op->name, "_", info.index);
}
INSTANTIATE_TEST_SUITE_P(Examples, CpuOperator, testing::ValuesIn(AllExamples()), NameOf);

// The library cubes sums of squares, which overflow.
TEST(CpuLrn, LargeElements) {
  const Graph graph =
      GraphWithWeights("graph g(x: f32[1,5,1,3]) { y = lrn(x) {size = 3} return y }");
  for (const double large : {1e3, 4e9, 1e12, 1e17}) {
    std::vector<double> x(15, 7);
    x[4] = large;
    ExpectCpuMatchesReference(graph, {*Tensor::FromDoubles(graph.inputs()[0].type(), x)});
  }
}

}  // namespace
}  // namespace lemma
