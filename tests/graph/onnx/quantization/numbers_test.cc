// Scales and zero points, and weights as integers.
#include "graph/onnx/quantization/numbers.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;

TEST(ParamsOfRangeTest, HoldZeroAndBothEnds) {
  const QuantParams all = ParamsOfRange(-1, 254, false);
  EXPECT_EQ(all.type, DType::kU8);
  EXPECT_EQ(all.scale, 1);
  EXPECT_EQ(all.zero, 1);
  EXPECT_EQ(all.low(), -1);
  EXPECT_EQ(all.high(), 254);
  // A range that lacks 0 is widened.
  EXPECT_EQ(ParamsOfRange(100, 510, false).zero, 0);
  EXPECT_EQ(ParamsOfRange(100, 510, false).scale, 2);
  EXPECT_EQ(ParamsOfRange(-510, -100, false).zero, 255);
  const QuantParams symmetric = ParamsOfRange(-127, 3, true);
  EXPECT_EQ(symmetric.type, DType::kI8);
  EXPECT_EQ(symmetric.scale, 1);
  EXPECT_EQ(symmetric.zero, 0);
}

TEST(ParamsOfRangeTest, RangesWithoutWidthKeepZero) {
  for (const double width : {0.0, 1e-45, 1e-40}) {
    const QuantParams params = ParamsOfRange(0, width, false);
    EXPECT_EQ(params.scale, 1) << width;
    EXPECT_EQ(Rounded(0, params), 0) << width;
  }
}

TEST(RoundedTest, GoesToTheNearestStepTiesToEvenAndSaturates) {
  const QuantParams params{DType::kU8, 0.5F, 10};
  EXPECT_EQ(Rounded(0.25F, params), 0);
  EXPECT_EQ(Rounded(0.75F, params), 1);
  EXPECT_EQ(Rounded(-0.3F, params), -0.5F);
  EXPECT_EQ(Rounded(-100, params), -5);
  EXPECT_EQ(Rounded(1000, params), 122.5F);
}

TEST(QuantizeWeightTest, EachChannelHasItsScale) {
  auto weight = QuantizeWeight({2, 3}, {127, -5, 2.5, 0.5, 0.25, -0.125}, 0, {});
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_THAT(weight->scales, ElementsAre(1, 0.5F / 127));
  EXPECT_THAT(weight->integers.ToInts(), ElementsAre(127, -5, 2, 127, 64, -32));
  EXPECT_EQ(weight->axis, 0);
  // Along the other axis.
  weight = QuantizeWeight({2, 2}, {127, 254, 1, 4}, 1, {});
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_THAT(weight->scales, ElementsAre(1, 2));
  EXPECT_THAT(weight->integers.ToInts(), ElementsAre(127, 127, 1, 2));
  EXPECT_THAT(weight->Floats(), ElementsAre(127, 254, 1, 4));
}

TEST(QuantizeWeightTest, ZeroChannelsAndLeastScales) {
  auto weight = QuantizeWeight({2, 1}, {0, 127}, 0, {}, {0.25, 0.25});
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_THAT(weight->scales, ElementsAre(0.25F, 1));
  weight = QuantizeWeight({2, 1}, {0, 127}, 0, {});
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_THAT(weight->scales, ElementsAre(1, 1));
}

TEST(QuantizeWeightTest, SevenBitsAndZeroPoints) {
  WeightOptions options;
  options.bits = 7;
  auto weight = QuantizeWeight({1, 2}, {63, -63}, 0, options);
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_THAT(weight->integers.ToInts(), ElementsAre(63, -63));
  options = {8, false, false};
  weight = QuantizeWeight({1, 3}, {-55, 200, 0}, 0, options);
  ASSERT_TRUE(weight.ok()) << weight.status();
  EXPECT_EQ(weight->axis, -1);
  EXPECT_THAT(weight->scales, ElementsAre(1));
  EXPECT_THAT(weight->zeros, ElementsAre(55));
  EXPECT_THAT(weight->integers.ToInts(), ElementsAre(0, 255, 55));
  EXPECT_THAT(weight->Floats(), ElementsAre(-55, 200, 0));
}

}  // namespace
}  // namespace lemma
