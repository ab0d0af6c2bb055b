// Values between operators are rounded to their types, also where fusion stores nothing: the CPU
// back end and the reference give NumPy's results.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/runtime_testutil.h"
#include "tests/runtime/stored_type_cases.h"

namespace lemma {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> Outputs(const std::string& onnx, const Tensor& x, Backend* backend) {
  auto model = ImportOnnxBytes(OnnxModel(onnx, 17).SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  auto outputs = (*backend->Compile(model->graph, {}))->Run({x});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

// Rounded between scale, quotient and rounding. In double the quanta are 201, 0, 204, 167, 254, 12.
TEST(OnnxNumbers, DynamicQuantizationRoundsToF32BetweenItsOperators) {
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {6}},
                                        {2.703125, -4.640625, 2.8125, 1.46875, 4.640625, -4.1875});
  const std::string model =
      "g (float[6] x) => (uint8[6] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }";
  const std::vector<double> expected = {202, 0, 205, 168, 255, 13};
  EXPECT_EQ(Outputs(model, x, MakeCpuBackend().get()), expected);
  EXPECT_EQ(Outputs(model, x, MakeReferenceBackend().get()), expected);
}

TEST(OnnxNumbers, ZerosDividedByTheirNormAreZero) {
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {2, 2}}, {0, 0, 3, 4});
  for (const char* p : {"1", "2", "3"}) {
    const std::string model =
        std::string("g (float[2,2] x) => (float[2,2] y) { y = LpNormalization<p = ") + p + ">(x) }";
    for (auto& backend : {MakeCpuBackend(), MakeReferenceBackend()}) {
      const std::vector<double> y = Outputs(model, x, backend.get());
      EXPECT_EQ(y[0], 0);
      EXPECT_EQ(y[1], 0);
      EXPECT_GT(y[3], 0.5);
    }
  }
}

// A library's softmax can turn NaN into plausible numbers.
TEST(NotANumber, SoftmaxOfARowWithNaNIsNaN) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[4,3]) { a = relu(x) b = neg(x) c = neg(b) "
      "y = softmax(c) return y, a }");
  const Tensor x = *Tensor::FromDoubles(
      {DType::kF32, {4, 3}}, {0, 0, 0, kNaN, 1, 2, -kInf, -kInf, -kInf, -kInf, 0, -kInf});
  auto outputs = (*MakeCpuBackend()->Compile(graph, {}))->Run({x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR((*outputs)[0].AtDouble(i), 1.0 / 3, 1e-6);
    EXPECT_TRUE(std::isnan((*outputs)[0].AtDouble(3 + i)));
    EXPECT_TRUE(std::isnan((*outputs)[0].AtDouble(6 + i)));
    EXPECT_EQ((*outputs)[0].AtDouble(9 + i), i == 1 ? 1 : 0);
  }
}

// The rows are columns in memory, none of which is without a finite number there.
TEST(NotANumber, SoftmaxOfAColumnWithoutFiniteNumbersIsNaN) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[2,3,2]) { a = neg(x) b = neg(a) y = softmax(b) {axis = 1} return y }");
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {2, 3, 2}},
                                        {-kInf, 0, -kInf, 1, -kInf, 2, 0, 0, 0, -kInf, 0, -kInf});
  auto outputs = (*MakeCpuBackend()->Compile(graph, {}))->Run({x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const Tensor& y = (*outputs)[0];
  for (int i : {0, 2, 4}) EXPECT_TRUE(std::isnan(y.AtDouble(i))) << i;
  EXPECT_NEAR(y.AtDouble(1) + y.AtDouble(3) + y.AtDouble(5), 1, 1e-6);
  for (int i : {6, 8, 10}) EXPECT_NEAR(y.AtDouble(i), 1.0 / 3, 1e-6);
  EXPECT_EQ(y.AtDouble(7), 1);
}

TEST(NotANumber, ABatchNormalizationByAnInfiniteMeanIsInfinite) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[1,2,1,1], w: weight f32[2,2,1,1] = [1.0, 0.0, 0.0, 1.0], "
      "s: weight f32[2] = [1.0, 1.0], b: weight f32[2] = [0.0, 0.0], "
      "m: weight f32[2] = [0.0, inf], v: weight f32[2] = [1.0, 1.0]) { "
      "a = conv2d(x, w) y = batch_norm(a, s, b, m, v) c = relu(x) "
      "z = batch_norm(c, s, b, m, v) return y, z }");
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {1, 2, 1, 1}}, {3, 4});
  auto outputs = (*MakeCpuBackend()->Compile(graph, {}))->Run({x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const Tensor& y : *outputs) {
    EXPECT_NEAR(y.AtDouble(0), 3, 1e-4);
    EXPECT_EQ(y.AtDouble(1), -kInf);
  }
}

// The library's maximum of padding is the least float.
TEST(Poolings, TheMaximumOfPaddingAloneIsMinusInfinity) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[1,2,1,3]) { y = max_pool2d(x) {dilations = [2,3], kernel = [3,2], "
      "pads = [1,2,3,0]} return y }");
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {1, 2, 1, 3}}, {1, 2, 3, 4, 5, 6});
  auto outputs = (*MakeCpuBackend()->Compile(graph, {}))->Run({x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].AtDouble(0), -kInf);
}

TEST(Poolings, TheMaximumOfMinusInfinitiesIsOne) {
  const Graph graph =
      GraphWithWeights("graph g(x: f32[1,1,2,2]) { y = max_pool2d(x) {kernel = [2,2]} return y }");
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {1, 1, 2, 2}}, {-kInf, -kInf, -kInf, -kInf});
  auto outputs = (*MakeCpuBackend()->Compile(graph, {}))->Run({x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].AtDouble(0), -kInf);
}

class StoredTypes : public testing::TestWithParam<StoredTypeCase> {};

void ExpectGives(Backend* backend, const StoredTypeCase& c) {
  const Graph graph = GraphWithWeights(c.graph);
  const std::vector<Tensor> inputs = InputsOf(c, graph);
  auto executable = backend->Compile(graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (size_t i = 0; i < c.expected.size(); ++i) {
    EXPECT_EQ((*outputs)[0].AtDouble(static_cast<int64_t>(i)), c.expected[i])
        << backend->name() << ", element " << i << "\n"
        << (*executable)->Describe();
  }
}

TEST_P(StoredTypes, OnTheReference) { ExpectGives(MakeReferenceBackend().get(), GetParam()); }
TEST_P(StoredTypes, OnTheCpu) { ExpectGives(MakeCpuBackend().get(), GetParam()); }
TEST_P(StoredTypes, OnTheCpuWithoutViews) {
  ExpectGives(MakeCpuBackend({/*fuse_layout=*/false}).get(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cases, StoredTypes, testing::ValuesIn(StoredTypeCases()),
                         [](const testing::TestParamInfo<StoredTypeCase>& info) {
                           return info.param.name;
                         });
INSTANTIATE_TEST_SUITE_P(Small, StoredTypes, testing::ValuesIn(SmallTypeCases()),
                         [](const testing::TestParamInfo<StoredTypeCase>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace lemma
