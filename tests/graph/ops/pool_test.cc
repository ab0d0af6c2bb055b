// Pooling against loops.
#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Case {
  Shape x;
  Ints kernel, strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  bool ceil_mode = false;

  Attrs attrs() const {
    return {{"kernel", kernel},
            {"strides", strides},
            {"pads", pads},
            {"dilations", dilations},
            {"ceil_mode", int64_t{ceil_mode}}};
  }
};

// Counts windows one by one, until one reaches the end.
int64_t Windows(const Case& t, int i) {
  int64_t reach = (t.kernel[i] - 1) * t.dilations[i] + 1;
  int64_t end = t.x[2 + i] + t.pads[2 + i], count = 0, covered = -t.pads[i];
  for (int64_t start = -t.pads[i]; covered < end; start += t.strides[i]) {
    covered = start + reach;
    if (covered <= end || (t.ceil_mode && start < t.x[2 + i])) ++count;
  }
  return count;
}

struct Expected {
  std::vector<double> max, mean, mean_with_pad;
};

Expected Pool(const Case& t, const Arg& x) {
  Expected e;
  for (int64_t n = 0; n < t.x[0] * t.x[1]; ++n)
    for (int64_t p = 0; p < Windows(t, 0); ++p)
      for (int64_t q = 0; q < Windows(t, 1); ++q) {
        double max = -std::numeric_limits<double>::infinity(), sum = 0, inside = 0, padded = 0;
        for (int64_t r = 0; r < t.kernel[0]; ++r)
          for (int64_t s = 0; s < t.kernel[1]; ++s) {
            int64_t i = p * t.strides[0] + r * t.dilations[0] - t.pads[0];
            int64_t j = q * t.strides[1] + s * t.dilations[1] - t.pads[1];
            if (i < t.x[2] + t.pads[2] && j < t.x[3] + t.pads[3]) ++padded;
            if (i < 0 || i >= t.x[2] || j < 0 || j >= t.x[3]) continue;
            double v = x.At({n / t.x[1], n % t.x[1], i, j});
            max = std::max(max, v);
            sum += v;
            ++inside;
          }
        e.max.push_back(max);
        e.mean.push_back(sum / inside);
        e.mean_with_pad.push_back(sum / padded);
      }
  return e;
}

void Check(const Case& t) {
  Arg x = SomeNumbers(t.x);
  Expected e = Pool(t, x);
  EXPECT_EQ(Eval1("max_pool2d", {x}, t.attrs()), e.max);
  EXPECT_EQ(Eval1("avg_pool2d", {x}, t.attrs()), e.mean);
  Attrs with_pad = t.attrs();
  with_pad["count_include_pad"] = int64_t{1};
  EXPECT_EQ(Eval1("avg_pool2d", {x}, with_pad), e.mean_with_pad);
}

TEST(Pool2d, IsItsLoopNest) {
  Check({{2, 3, 7, 6}, {2, 3}});
  Check({{1, 2, 8, 9}, {3, 3}, {2, 2}, {1, 1, 1, 1}});
  Check({{1, 2, 6, 7}, {3, 2}, {2, 3}, {2, 0, 1, 1}});
  Check({{1, 2, 9, 9}, {3, 2}, {1, 1}, {1, 2, 3, 0}, {2, 3}});
}

TEST(Pool2d, CeilModeKeepsAWindowThatSticksOut) {
  Check({{1, 1, 6, 8}, {3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true});
  Check({{1, 1, 6, 6}, {3, 3}, {2, 2}, {1, 1, 0, 0}, {1, 1}, true});
  Check({{1, 1, 7, 5}, {3, 2}, {3, 2}, {1, 0, 1, 1}, {1, 1}, true});
}

TEST(Pool2d, CeilModeDropsAWindowThatCoversNothing) {
  Case t{{1, 1, 4, 4}, {1, 2}, {2, 3}, {0, 0, 0, 0}, {1, 1}, true};
  Check(t);
  EXPECT_EQ(TypeOf("max_pool2d", {{DType::kF32, t.x}}, t.attrs()), "f32[1,1,2,2]");
}

TEST(MaxPool2dIndex, CountsTheElementsOfX) {
  Arg x({1, 2, 2, 3}, {1, 5, 5, 5, 0, 2, -1, -2, -3, -4, -5, 0});
  Attrs attrs = {{"kernel", Ints{2, 2}}};
  EXPECT_EQ(Eval1("max_pool2d_index", {x}, attrs), (std::vector<double>{1, 1, 6, 11}));
  attrs["column_major"] = int64_t{1};
  EXPECT_EQ(Eval1("max_pool2d_index", {x}, attrs), (std::vector<double>{1, 2, 6, 11}));
  EXPECT_EQ(TypeOf("max_pool2d_index", {x.type}, attrs), "i64[1,2,1,2]");
}

TEST(Pool2d, SaysWhatDoesNotFit) {
  TensorType x{DType::kF32, {1, 4, 5, 5}};
  EXPECT_THAT(TypeOf("max_pool2d", {x}, {{"kernel", Ints{3}}}),
              HasSubstr("kernel must be [height, width], not 1 numbers"));
  EXPECT_THAT(TypeOf("max_pool2d", {x}, {{"kernel", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}}),
              HasSubstr("padding 2 and 0 must be less than the window's reach 2"));
  EXPECT_THAT(TypeOf("avg_pool2d", {x}, {{"kernel", Ints{2, 6}}}),
              HasSubstr("the window's width 6 exceeds the padded input's 5"));
  EXPECT_THAT(TypeOf("avg_pool2d", {{DType::kF32, {5, 5}}}, {{"kernel", Ints{2, 2}}}),
              HasSubstr("input must be [N,C,H,W], not of rank 2"));
  EXPECT_THAT(TypeOf("avg_pool2d", {{DType::kI64, {1, 1, 5, 5}}}, {{"kernel", Ints{2, 2}}}),
              HasSubstr("element type must be f32"));
}

TEST(Pool2d, StatesRequirementsOverSymbols) {
  for (const char* op : {"max_pool2d", "avg_pool2d", "max_pool2d_index"}) {
    for (int64_t ceil_mode : {0, 1}) {
      auto requirements = Requirements(op, {{"N", "C", "H", "W"}},
                                       {{"kernel", Symbols({"R", "S"})},
                                        {"pads", Symbols({"t", "l", "b", "r"})},
                                        {"strides", Symbols({"sh", "sw"})},
                                        {"ceil_mode", IndexExpr(ceil_mode)}});
      EXPECT_THAT(requirements, Contains("1 <= R"));
      EXPECT_THAT(requirements, Contains("1 <= sw"));
    }
  }
}

}  // namespace
}  // namespace lemma
