// Outputs compared by samples: which differences are found, and which rounding excuses.
#include "tools/gpu/sampled_outputs.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma::gpu {
namespace {

// One output, y, of `n` elements: an element-wise function, so a tolerance of about 1e-6.
Graph GraphOf(int64_t n) {
  auto graph = ParseGraph(absl::StrCat("graph g(x: f32[", n, "]) {\n  y = tanh(x)\n  return y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

std::vector<Tensor> Ramp(int64_t n, double moved = 0) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i) / n + moved);
  return {*Tensor::FromDoubles({DType::kF32, {n}}, values)};
}

TEST(SampledOutputs, EqualOutputsAreEqual) {
  for (int64_t n : {1, 255, 256, 1000}) {
    const Graph graph = GraphOf(n);
    auto samples = SampleOutputs(graph, Ramp(n), {});
    ASSERT_TRUE(samples.ok()) << samples.status();
    auto difference = CompareSamples(graph, Ramp(n), *samples);
    ASSERT_TRUE(difference.ok()) << difference.status();
    EXPECT_TRUE(difference->worst.ok);
    EXPECT_EQ(difference->outputs, 1);
    EXPECT_EQ(difference->beyond_tolerance, 0);
    EXPECT_LT(difference->worst.largest, 1e-12);
  }
}

TEST(SampledOutputs, WhatDiffersIsFound) {
  const Graph graph = GraphOf(1000);
  auto samples = SampleOutputs(graph, Ramp(1000), {});
  ASSERT_TRUE(samples.ok());
  auto difference = CompareSamples(graph, Ramp(1000, 1e-4), *samples);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->worst.ok);
  EXPECT_EQ(difference->worst.output, "y");
  EXPECT_NEAR(difference->worst.largest, 1e-4, 1e-6);
  // An element between the samples differs; the norm shows it.
  std::vector<double> values = Ramp(1000)[0].ToDoubles();
  values[1] = 1;
  difference =
      CompareSamples(graph, {*Tensor::FromDoubles({DType::kF32, {1000}}, values)}, *samples);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->worst.ok);
  values[1] = NAN;
  difference =
      CompareSamples(graph, {*Tensor::FromDoubles({DType::kF32, {1000}}, values)}, *samples);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->worst.ok);
}

TEST(SampledOutputs, WhatNearbyInputsMoveIsExcusedFourTimes) {
  const Graph graph = GraphOf(1000);
  auto samples = SampleOutputs(graph, Ramp(1000), {Ramp(1000, 3e-5), Ramp(1000, -1e-5)});
  ASSERT_TRUE(samples.ok());
  auto difference = CompareSamples(graph, Ramp(1000, 1e-4), *samples);
  ASSERT_TRUE(difference.ok());
  EXPECT_TRUE(difference->worst.ok);
  EXPECT_EQ(difference->beyond_tolerance, 1);
  difference = CompareSamples(graph, Ramp(1000, 1.4e-4), *samples);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->worst.ok);
}

TEST(SampledOutputs, OtherSizesAndValuesThatAreNotFiniteAreErrors) {
  auto samples = SampleOutputs(GraphOf(1000), Ramp(1000), {});
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(CompareSamples(GraphOf(10), Ramp(10), *samples).status().message(),
            "y: has no samples of this size");
  EXPECT_EQ(SampleOutputs(GraphOf(10), Ramp(10, HUGE_VAL), {}).status().message(), "y: not finite");
}

TEST(SampledOutputs, NearbyInputsAreNearAndOthers) {
  const std::vector<Tensor> inputs = {Ramp(100)[0], Tensor::Ints({5, 7})};
  auto near = Nearby(inputs, 3);
  ASSERT_TRUE(near.ok());
  EXPECT_TRUE((*near)[1].SameBytes(inputs[1]));
  int changed = 0;
  for (int64_t i = 0; i < 100; ++i) {
    const double x = inputs[0].AtDouble(i), y = (*near)[0].AtDouble(i);
    EXPECT_LE(std::fabs(x - y), 2e-6 * std::fabs(x));
    changed += x == y ? 0 : 1;
  }
  EXPECT_GT(changed, 80);
}

TEST(SampledOutputs, NormsAreHeldToWhatNormsMove) {
  const Graph graph = GraphOf(1000);
  // Elements move by 0.1, the norm hardly moves.
  auto shuffled = [](int sign) {
    std::vector<double> values = Ramp(1000)[0].ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] += (i % 2 == 0 ? 0.1 : -0.1) * sign;
    return std::vector<Tensor>{*Tensor::FromDoubles({DType::kF32, {1000}}, values)};
  };
  auto samples = SampleOutputs(graph, Ramp(1000), {shuffled(1)});
  ASSERT_TRUE(samples.ok());
  EXPECT_TRUE(CompareSamples(graph, shuffled(-1), *samples)->worst.ok);
  EXPECT_FALSE(CompareSamples(graph, Ramp(1000, 0.3), *samples)->worst.ok);
}

}  // namespace
}  // namespace lemma::gpu
