#include "base/median.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

double Middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(Median, IsKnownFromFiveEqualValues) {
  EXPECT_FALSE(MedianIsKnown({2, 2, 2, 2}, 0.01));
  EXPECT_TRUE(MedianIsKnown({2, 2, 2, 2, 2}, 0.01));
  EXPECT_TRUE(MedianIsKnown({2, 2.015, 2, 2.01, 2}, 0.01));
  EXPECT_FALSE(MedianIsKnown({2, 2.03, 2, 2.01, 2}, 0.01));
}

// One disturbed value of eight says nothing, two do.
TEST(Median, IgnoresOutliersOfMany) {
  EXPECT_FALSE(MedianIsKnown({2, 2, 2, 2, 2, 2, 9}, 0.01));
  EXPECT_TRUE(MedianIsKnown({2, 2, 2, 2, 2, 2, 2, 9}, 0.01));
  EXPECT_FALSE(MedianIsKnown({2, 2, 2, 2, 2, 2, 9, 9}, 0.01));
  EXPECT_TRUE(MedianIsKnown({2, 2, 2, 2, 2, 2, 9, 2, 2, 2, 9}, 0.01));
}

// A series that ends as soon as its median is known, or at 15 values, is off by more than half the
// width at most in as many cases as one of 15 values and one more in ten. Times have a long tail.
TEST(Median, ComesFromEnoughValues) {
  std::mt19937_64 random(1);
  for (const double spread : {0.001, 0.003, 0.01, 0.03}) {
    std::lognormal_distribution<double> tail(std::log(spread), 1);
    const double truth = 1 + spread;  // the median of 1 + tail
    constexpr int kSeries = 20000;
    int early = 0, full = 0, values = 0;
    for (int s = 0; s < kSeries; ++s) {
      std::vector<double> all;
      double stopped = 0;
      while (all.size() < 15) {
        all.push_back(1 + tail(random));
        if (stopped != 0 || (all.size() < 15 && !MedianIsKnown(all, 0.01))) continue;
        stopped = Middle(all);
        values += static_cast<int>(all.size());
      }
      early += std::abs(stopped / truth - 1) > 0.005 ? 1 : 0;
      full += std::abs(Middle(all) / truth - 1) > 0.005 ? 1 : 0;
    }
    EXPECT_LE(early, full + kSeries / 10) << spread;
    if (spread < 0.002) {
      EXPECT_LT(values, 8 * kSeries) << spread;
    }
  }
}

}  // namespace
}  // namespace lemma
