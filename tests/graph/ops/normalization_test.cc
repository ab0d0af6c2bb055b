#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Values = std::vector<double>;

// Normalizes each of `sets` of x's elements, by position, to mean 0 and variance 1.
Values Normalized(const Arg& x, const std::function<int64_t(int64_t)>& set_of, double epsilon) {
  Values result = x.values;
  for (size_t i = 0; i < result.size(); ++i) {
    double count = 0, sum = 0, squares = 0;
    for (size_t j = 0; j < result.size(); ++j) {
      if (set_of(j) != set_of(i)) continue;
      ++count;
      sum += x.values[j];
      squares += x.values[j] * x.values[j];
    }
    double mean = sum / count, variance = squares / count - mean * mean;
    result[i] = (x.values[i] - mean) / std::sqrt(variance + epsilon);
  }
  return result;
}

TEST(BatchNorm, UsesTheStatisticsGiven) {
  Arg x({1, 2, 2}, {1, 3, 10, 20}), scale({2}, {2, 1}), bias({2}, {5, -1});
  Arg mean({2}, {1, 10}), variance({2}, {3, 99});
  EXPECT_EQ(Eval1("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", 1.0}}),
            (Values{5, 7, -1, 0}));
}

TEST(BatchNorm, TrainingNormalizesEachChannel) {
  Arg x = SomeNumbers({2, 3, 4, 5}), ones({3}, {1, 1, 1}), bias({3}, {0, 0, 0});
  auto result = Eval("batch_norm_training", {x, ones, bias}, {{"epsilon", 0.5}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->values[0],
              Pointwise(DoubleNear(1e-9), Normalized(
                                              x, [](int64_t i) { return i / 20 % 3; }, 0.5)));
  Arg flat({2, 1, 2}, {1, 3, 5, 7}), one({1}, {1});
  result = Eval("batch_norm_training", {flat, one, one});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->values[1], Values{4});
  EXPECT_EQ(result->values[2], Values{5});
  EXPECT_EQ(result->types[2].ToString(), "f32[1]");
}

TEST(LayerNorm, NormalizesFromItsAxisOn) {
  Arg x = SomeNumbers({2, 3, 4}), scale({3, 4}, Values(12, 2)), bias({3, 4}, Values(12, 1));
  Values expected = Normalized(
      x, [](int64_t i) { return i / 12; }, 1e-5);
  for (double& v : expected) v = 2 * v + 1;
  EXPECT_THAT(Eval1("layer_norm", {x, scale, bias}, {{"axis", int64_t{1}}}),
              Pointwise(DoubleNear(1e-9), expected));
  EXPECT_THAT(Eval1("layer_norm", {x, Arg({4}, {1, 1, 1, 1})}),
              Pointwise(DoubleNear(1e-9), Normalized(
                                              x, [](int64_t i) { return i / 4; }, 1e-5)));
}

TEST(InstanceNorm, NormalizesEachChannelOfEachExample) {
  Arg x = SomeNumbers({2, 3, 5}), scale({3}, {1, 2, 3}), bias({3}, {0, 1, 2});
  Values expected = Normalized(
      x, [](int64_t i) { return i / 5; }, 1e-5);
  for (size_t i = 0; i < expected.size(); ++i) {
    int64_t channel = i / 5 % 3;
    expected[i] = expected[i] * (channel + 1) + channel;
  }
  EXPECT_THAT(Eval1("instance_norm", {x, scale, bias}), Pointwise(DoubleNear(1e-9), expected));
}

TEST(GroupNorm, NormalizesChannelsTogether) {
  Arg x = SomeNumbers({2, 4, 3}), scale({4}, {1, 1, 1, 1}), bias({4}, {0, 0, 0, 0});
  EXPECT_THAT(Eval1("group_norm", {x, scale, bias}, {{"groups", int64_t{2}}}),
              Pointwise(DoubleNear(1e-9), Normalized(
                                              x, [](int64_t i) { return i / 6; }, 1e-5)));
  EXPECT_THAT(TypeOf("group_norm", {x.type, scale.type, bias.type}, {{"groups", int64_t{3}}}),
              HasSubstr("4 channels do not divide into 3 groups"));
}

TEST(Lrn, SumsOverNeighboringChannels) {
  Arg x({1, 4, 1}, {1, 2, 3, 4});
  Attrs attrs = {{"size", int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}};
  EXPECT_THAT(Eval1("lrn", {x}, attrs),
              Pointwise(DoubleNear(1e-12), Values{1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26}));
  attrs["size"] = int64_t{2};  // of an even number, the later half is larger
  attrs["alpha"] = 2.0;
  EXPECT_THAT(Eval1("lrn", {x}, attrs),
              Pointwise(DoubleNear(1e-12), Values{1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17}));
}

TEST(Normalization, SaysWhatIsWrong) {
  TensorType x{DType::kF32, {2, 3, 4}}, three{DType::kF32, {3}}, four{DType::kF32, {4}};
  EXPECT_THAT(TypeOf("batch_norm", {x, three, three, four, three}),
              HasSubstr("mean must have 3 elements, not 4"));
  EXPECT_THAT(TypeOf("layer_norm", {x, three}), HasSubstr("scale has size 3 where x has 4"));
  EXPECT_THAT(TypeOf("layer_norm", {x, four, x}), HasSubstr("bias must have the 1 dimensions"));
  EXPECT_THAT(TypeOf("instance_norm", {{DType::kF32, {2, 3}}, three, three}),
              HasSubstr("x must be [N,C,spatial...] of rank 3 or more, not of rank 2"));
  EXPECT_THAT(TypeOf("lrn", {x}), HasSubstr("attribute size missing"));
}

TEST(Normalization, OverSymbols) {
  std::vector<std::string> x = {"N", "C", "H", "W"}, c = {"C"};
  EXPECT_TRUE(Requirements("batch_norm", {x, c, c, c, c}).empty());
  EXPECT_THAT(Requirements("batch_norm_training", {x, c, c}), Contains("1 <= W"));
  EXPECT_THAT(Requirements("layer_norm", {x, {"W"}, {"V"}}), Contains("V == W"));
  EXPECT_THAT(Requirements("instance_norm", {x, {"D"}, c}), Contains("D == C"));
  EXPECT_THAT(Requirements("group_norm", {x, c, c}, {{"groups", IndexExpr::Symbol("G")}}),
              Contains("(C mod G) == 0"));
  EXPECT_THAT(Requirements("lrn", {x}, {{"size", IndexExpr::Symbol("S")}}), Contains("1 <= S"));
}

}  // namespace
}  // namespace lemma
