// Softmax of rows by AVX-512, against doubles and against the definition's infinities and NaN.
#include "runtime/cpu/kernels/vectorized/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lemma::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// By the definition, in double.
std::vector<double> Expected(const std::vector<float>& row) {
  double greatest = -kInf, total = 0;
  bool is_nan = false;
  for (float x : row) {
    greatest = std::max(greatest, static_cast<double>(x));
    is_nan = is_nan || std::isnan(x);
  }
  std::vector<double> result;
  for (float x : row) {
    result.push_back(is_nan ? kNan : std::exp(x - greatest));
    total += result.back();
  }
  for (double& y : result) y /= total;
  return result;
}

void ExpectRight(const std::vector<float>& x, int64_t rows, const std::vector<float>& y) {
  const auto columns = static_cast<int64_t>(x.size()) / rows;
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<float> row(x.begin() + r * columns, x.begin() + (r + 1) * columns);
    const std::vector<double> expected = Expected(row);
    const double greatest = *std::max_element(row.begin(), row.end());
    for (int64_t c = 0; c < columns; ++c) {
      const double want = expected[static_cast<size_t>(c)];
      const double got = y[static_cast<size_t>(r * columns + c)];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << r << ", " << c;
        continue;
      }
      // x - greatest is rounded to f32 before its exponential is taken.
      const double distance = greatest - row[static_cast<size_t>(c)];
      const double relative = 0x1p-21 + (std::isfinite(distance) ? distance * 0x1p-24 : 0);
      EXPECT_NEAR(got, want, relative * want + 3e-45) << r << ", " << c << " of " << columns;
    }
  }
}

class SoftmaxRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasSoftmaxRows()) GTEST_SKIP() << "no AVX-512";
  }
};

TEST_F(SoftmaxRowsTest, OfAllLengthsAndMagnitudes) {
  std::mt19937 random(7);
  std::vector<int64_t> lengths = {127, 128, 129, 197, 1000, 2048};
  for (int64_t length = 16; length <= 100; ++length) lengths.push_back(length);
  for (const int64_t columns : lengths) {
    for (const double magnitude : {1e-3, 1.0, 30.0, 1e4}) {
      const int64_t rows = 3;
      std::normal_distribution<double> normal(0, magnitude);
      std::vector<float> x;
      for (int64_t i = 0; i < rows * columns; ++i) x.push_back(static_cast<float>(normal(random)));
      // Nothing around the result is written.
      std::vector<float> y(x.size() + 2, 5.0f);
      SoftmaxRows(x.data(), rows, columns, y.data() + 1);
      EXPECT_EQ(y.front(), 5.0f);
      EXPECT_EQ(y.back(), 5.0f);
      ExpectRight(x, rows, {y.begin() + 1, y.end() - 1});
      std::vector<float> in_place = x;
      SoftmaxRows(in_place.data(), rows, columns, in_place.data());
      EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), y.begin() + 1));
    }
  }
}

// A mask of -infinity, rows that are masked as a whole, infinities and NaN at every position.
TEST_F(SoftmaxRowsTest, OfInfinitiesAndNan) {
  for (const int64_t columns : {16, 17, 31, 32, 64, 65, 80, 130}) {
    for (const float special : {-kInf, kInf, kNan, -3e38f, 3e38f}) {
      for (int64_t at = 0; at < columns; ++at) {
        // The row between two usual ones.
        std::vector<float> x(static_cast<size_t>(3 * columns));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
        x[static_cast<size_t>(columns + at)] = special;
        std::vector<float> y(x.size());
        SoftmaxRows(x.data(), 3, columns, y.data());
        ExpectRight(x, 3, y);
      }
    }
    std::vector<float> masked(static_cast<size_t>(columns), -kInf), y(masked.size());
    SoftmaxRows(masked.data(), 1, columns, y.data());
    for (float value : y) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_F(SoftmaxRowsTest, OfASumIsThatOfTheRoundedSums) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal(0, 5);
  for (int64_t columns = 16; columns <= 150; ++columns) {
    const auto n = static_cast<size_t>(columns);
    std::vector<float> x, addend, sum, expected(n), y(n + 2, 5.0f);
    for (size_t i = 0; i < n; ++i) {
      x.push_back(normal(random));
      addend.push_back(i % 5 == 3 ? -kInf : normal(random));
      sum.push_back(x[i] + addend[i]);
    }
    SoftmaxRows(sum.data(), 1, columns, expected.data());
    SoftmaxOfSumRow(x.data(), addend.data(), columns, y.data() + 1, x.data(), addend.data());
    EXPECT_EQ(y.front(), 5.0f);
    EXPECT_EQ(y.back(), 5.0f);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), y.begin() + 1)) << columns;
    SoftmaxOfSumRow(x.data(), addend.data(), columns, x.data(), x.data(), addend.data());
    EXPECT_EQ(x, expected) << columns;
  }
}

TEST_F(SoftmaxRowsTest, OfEqualElementsIsExact) {
  for (const int64_t columns : {16, 64, 1024}) {
    const std::vector<float> x(static_cast<size_t>(columns), 3.25f);
    std::vector<float> y(x.size());
    SoftmaxRows(x.data(), 1, columns, y.data());
    for (float value : y) EXPECT_EQ(value, 1.0f / static_cast<float>(columns));
  }
}

}  // namespace
}  // namespace lemma::kernels
