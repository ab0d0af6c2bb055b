// conv2d and conv_transpose2d against loops.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Case {
  Shape x, w;
  Ints strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  int64_t groups = 1;
  Ints output_padding = {0, 0};

  Attrs attrs() const {
    return {{"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"groups", groups}};
  }
  int64_t Out(int i) const {
    int64_t reach = (w[2 + i] - 1) * dilations[i] + 1;
    return (x[2 + i] + pads[i] + pads[2 + i] - reach) / strides[i] + 1;
  }
};

void CheckConv(const Case& t) {
  Arg x = SomeNumbers(t.x), w = SomeNumbers(t.w, 2), bias = SomeNumbers({t.w[0]}, 3);
  std::vector<double> expected;
  for (int64_t n = 0; n < t.x[0]; ++n)
    for (int64_t k = 0; k < t.w[0]; ++k)
      for (int64_t p = 0; p < t.Out(0); ++p)
        for (int64_t q = 0; q < t.Out(1); ++q) {
          double sum = bias.At({k});
          int64_t first = k / (t.w[0] / t.groups) * t.w[1];
          for (int64_t c = 0; c < t.w[1]; ++c)
            for (int64_t r = 0; r < t.w[2]; ++r)
              for (int64_t s = 0; s < t.w[3]; ++s)
                sum += x.AtOr0({n, first + c, p * t.strides[0] + r * t.dilations[0] - t.pads[0],
                                q * t.strides[1] + s * t.dilations[1] - t.pads[1]}) *
                       w.At({k, c, r, s});
          expected.push_back(sum);
        }
  EXPECT_EQ(Eval1("conv2d", {x, w, bias}, t.attrs()), expected);
}

TEST(Conv2d, IsItsLoopNest) {
  CheckConv({{1, 3, 5, 5}, {4, 3, 3, 3}});
  CheckConv({{2, 3, 7, 5}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}});
  CheckConv({{1, 4, 7, 6}, {6, 2, 3, 2}, {2, 1}, {1, 0, 2, 1}, {1, 1}, 2});
  CheckConv({{1, 2, 9, 9}, {2, 1, 3, 3}, {1, 1}, {2, 3, 2, 3}, {2, 3}, 2});
  CheckConv({{1, 4, 5, 5}, {3, 4, 1, 1}, {3, 2}});
}

// Scatter form: every element of x adds to the outputs it reaches.
void CheckTranspose(const Case& t) {
  Arg x = SomeNumbers(t.x), w = SomeNumbers(t.w, 2);
  Ints size(2);
  for (int i = 0; i < 2; ++i) {
    size[i] = (t.x[2 + i] - 1) * t.strides[i] + (t.w[2 + i] - 1) * t.dilations[i] + 1 - t.pads[i] -
              t.pads[2 + i] + t.output_padding[i];
  }
  int64_t outputs = t.w[1] * t.groups, channels = t.x[1] / t.groups;
  Arg y({t.x[0], outputs, size[0], size[1]}, {});
  y.values.resize(y.type.num_elements());
  for (int64_t n = 0; n < t.x[0]; ++n)
    for (int64_t c = 0; c < t.x[1]; ++c)
      for (int64_t k = 0; k < t.w[1]; ++k)
        for (int64_t i = 0; i < t.x[2]; ++i)
          for (int64_t j = 0; j < t.x[3]; ++j)
            for (int64_t r = 0; r < t.w[2]; ++r)
              for (int64_t s = 0; s < t.w[3]; ++s) {
                int64_t p = i * t.strides[0] + r * t.dilations[0] - t.pads[0];
                int64_t q = j * t.strides[1] + s * t.dilations[1] - t.pads[1];
                if (p < 0 || p >= size[0] || q < 0 || q >= size[1]) continue;
                int64_t out = c / channels * t.w[1] + k;
                y.values[((n * outputs + out) * size[0] + p) * size[1] + q] +=
                    x.At({n, c, i, j}) * w.At({c, k, r, s});
              }
  Attrs attrs = t.attrs();
  attrs["output_padding"] = t.output_padding;
  EXPECT_EQ(Eval1("conv_transpose2d", {x, w}, attrs), y.values);
}

TEST(ConvTranspose2d, ScattersWhatConvolutionGathers) {
  CheckTranspose({{1, 2, 3, 4}, {2, 3, 3, 3}});
  CheckTranspose({{2, 3, 4, 3}, {3, 2, 3, 2}, {2, 3}, {1, 0, 0, 1}});
  CheckTranspose({{1, 4, 3, 3}, {4, 2, 3, 3}, {1, 1}, {1, 1, 2, 1}, {2, 1}, 2});
  CheckTranspose({{1, 1, 3, 3}, {1, 2, 3, 3}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1, {1, 1}});
}

TEST(Conv2d, SaysWhatDoesNotFit) {
  TensorType x{DType::kF32, {1, 4, 5, 5}}, w{DType::kF32, {6, 2, 3, 3}};
  EXPECT_EQ(TypeOf("conv2d", {x, w}, {{"groups", int64_t{2}}}), "f32[1,6,3,3]");
  EXPECT_THAT(TypeOf("conv2d", {x, w}),
              HasSubstr("x has 4 channels, w takes 2 in each of 1 groups"));
  EXPECT_THAT(TypeOf("conv2d", {x, {DType::kF32, {6, 4, 7, 3}}}),
              HasSubstr("the window's height 7 exceeds the padded input's 5"));
  EXPECT_THAT(TypeOf("conv2d", {x, {DType::kF64, {6, 4, 3, 3}}}),
              HasSubstr("one element type, not both f32 and f64"));
  EXPECT_THAT(TypeOf("conv2d", {x, {DType::kF32, {6, 4, 3, 3}}}, {{"strides", Ints{0, 1}}}),
              HasSubstr("height stride is 0"));
  EXPECT_THAT(TypeOf("conv2d", {x, {DType::kF32, {6, 4, 3, 3}}}, {{"pads", Ints{1, 1}}}),
              HasSubstr("pads must be [top, left, bottom, right]"));
}

TEST(Conv2d, StatesRequirementsOverSymbols) {
  auto requirements = Requirements("conv2d", {{"N", "C", "H", "W"}, {"K", "D", "R", "S"}},
                                   {{"strides", Symbols({"sh", "sw"})},
                                    {"pads", Symbols({"t", "l", "b", "r"})},
                                    {"dilations", Symbols({"dh", "dw"})},
                                    {"groups", IndexExpr::Symbol("G")}});
  EXPECT_THAT(requirements, Contains("(D*G) == C"));
  EXPECT_THAT(requirements, Contains("(K mod G) == 0"));
  EXPECT_THAT(requirements, Contains("1 <= sh"));
}

TEST(ConvTranspose2d, StatesRequirementsOverSymbols) {
  auto requirements = Requirements("conv_transpose2d", {{"N", "C", "H", "W"}, {"C", "K", "R", "S"}},
                                   {{"strides", Symbols({"sh", "sw"})}});
  EXPECT_THAT(requirements, Contains("1 <= H"));
  EXPECT_THAT(requirements, Contains("1 <= sw"));
}

}  // namespace
}  // namespace lemma
