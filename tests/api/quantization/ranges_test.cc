// Ranges from histograms.
#include "api/quantization/ranges.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace lemma::api {
namespace {

ValueHistogram HistogramOf(const std::vector<double>& values) {
  const Tensor tensor =
      *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
  ValueHistogram histogram;
  histogram.Widen(tensor);
  histogram.Count(tensor);
  return histogram;
}

// A bell of 100,000 values within [-3.3, 3.3], and one far away.
ValueHistogram WithOutlier() {
  std::vector<double> values;
  for (int i = 1; i < 100000; ++i) {
    const double u = i / 100000.0;
    values.push_back(0.75 * std::log(u / (1 - u)) / 2);
  }
  values.push_back(100);
  return HistogramOf(values);
}

TEST(RangesTest, CountsEveryValue) {
  const ValueHistogram histogram = HistogramOf({-1, 0, 0.5, 1, 1});
  EXPECT_EQ(histogram.low, -1);
  EXPECT_EQ(histogram.high, 1);
  EXPECT_EQ(histogram.total, 5);
  EXPECT_EQ(histogram.counts.front(), 1);
  EXPECT_EQ(histogram.counts.back(), 2);
  EXPECT_EQ(histogram.counts[1024], 1);
  EXPECT_EQ(histogram.counts[1536], 1);
}

TEST(RangesTest, HoldZeroAlways) {
  const ValueHistogram histogram = HistogramOf({2, 3});
  EXPECT_EQ(histogram.least, 2);
  EXPECT_EQ(histogram.low, 0);
  for (const std::string& name : RangeMethodNames()) {
    RangeOptions options;
    options.method = *ParseRangeMethod(name);
    const auto [low, high] = ChooseRange(histogram, options);
    EXPECT_EQ(low, 0) << name;
    EXPECT_GE(high, 2) << name;
    EXPECT_LE(high, 3) << name;
  }
}

TEST(RangesTest, OnlyMinMaxFollowsAnOutlier) {
  const ValueHistogram histogram = WithOutlier();
  RangeOptions options;
  EXPECT_EQ(ChooseRange(histogram, options).second, 100);
  for (const RangeMethod method : {RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    options.method = method;
    const auto [low, high] = ChooseRange(histogram, options);
    EXPECT_GT(high, 1) << static_cast<int>(method);
    EXPECT_LT(high, 20) << static_cast<int>(method);
    EXPECT_LT(low, -1) << static_cast<int>(method);
  }
}

TEST(RangesTest, PercentileLeavesOutHalfOnEachSide) {
  std::vector<double> values;
  for (int i = 0; i <= 1000; ++i) values.push_back(i);
  RangeOptions options;
  options.method = RangeMethod::kPercentile;
  options.percentile = 90;
  EXPECT_NEAR(ChooseRange(HistogramOf(values), options).second, 950, 1);
}

TEST(RangesTest, MseHasTheLeastErrorOfItsCandidates) {
  // Where many values are small, clipping the few large ones costs less than large steps.
  std::vector<double> values(1000000, 0.01);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.02 * std::sin(static_cast<double>(i));
  values.push_back(1);
  RangeOptions options;
  options.method = RangeMethod::kMse;
  EXPECT_LT(ChooseRange(HistogramOf(values), options).second, 0.9);
  // Two values at the ends: clipping both costs more.
  EXPECT_EQ(ChooseRange(HistogramOf({-1, 1}), options).second, 1);
}

TEST(RangesTest, AConstantHasNoWidth) {
  for (const std::string& name : RangeMethodNames()) {
    RangeOptions options;
    options.method = *ParseRangeMethod(name);
    EXPECT_EQ(ChooseRange(HistogramOf({0, 0}), options), std::make_pair(0.0, 0.0)) << name;
  }
}

}  // namespace
}  // namespace lemma::api
