// What imported operators compute that become compositions of ours.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// The outputs of the graph for these inputs, in the order of the graph's; empty on an error, which
// fails the test.
std::vector<Tensor> Outputs(const std::string& graph, int opset,
                            const std::vector<Doubles>& inputs) {
  auto model = ImportOnnxBytes(OnnxModel(graph, opset).SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  EXPECT_TRUE(model->opaque.empty()) << model->opaque[0];
  auto executable = MakeReferenceBackend()->Compile(model->graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(*Tensor::FromDoubles(model->graph.inputs()[i].type(), inputs[i]));
  }
  auto outputs = (*executable)->Run(tensors);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

// The first output.
Doubles Computed(const std::string& graph, int opset, const std::vector<Doubles>& inputs) {
  const std::vector<Tensor> outputs = Outputs(graph, opset, inputs);
  return outputs.empty() ? Doubles() : outputs[0].ToDoubles();
}

// Why the graph's operator is not imported.
std::string Refusal(const std::string& graph, int opset) {
  auto model = ImportOnnxBytes(OnnxModel(graph, opset).SerializeAsString());
  if (!model.ok()) return std::string(model.status().message());
  return model->opaque.empty() ? "" : model->opaque[0];
}

Doubles Count(int64_t n) {
  Doubles values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return values;
}

testing::Matcher<Doubles> Near(Doubles expected) {
  return Pointwise(testing::DoubleNear(1e-5), expected);
}

TEST(ComputedTest, TopKOfEachOperatorSet) {
  const Doubles x = {1, 4, 2, 4};
  EXPECT_THAT(Computed("g (float[4] x) => (int64[2] i) { v, i = TopK<k = 2>(x) }", 9, {x}),
              ElementsAre(1, 3));
  EXPECT_THAT(Computed("g (float[4] x) => (float[3] v) "
                       "{ k = Constant<value_ints = [3]>() v, i = TopK(x, k) }",
                       10, {x}),
              ElementsAre(4, 4, 2));
  EXPECT_THAT(Computed("g (float[4] x) => (float[2] v) { k = Constant<value_ints = [2]>() "
                       "v, i = TopK<largest = 0, sorted = 0, axis = -1>(x, k) }",
                       11, {x}),
              ElementsAre(1, 2));
  EXPECT_THAT(Refusal("g (float[4] x, int64[1] k) => (float[n] v) { v, i = TopK(x, k) }", 11),
              HasSubstr("unsupported: TopK (input 1 'k' must be a constant)"));
}

std::string GridSample(const std::string& attributes) {
  return absl::StrCat(
      "g (float[1,1,2,3] x, float[1,1,4,2] grid) => (float[1,1,1,4] y) { y = "
      "GridSample<",
      attributes, ">(x, grid) }");
}

TEST(ComputedTest, GridSample) {
  const Doubles x = {0, 1, 2, 3, 4, 5};
  // The corners' middles, the center, a point outside.
  const Doubles corners = {-1, -1, 1, 1, 0, 0, 3, 0};
  EXPECT_THAT(Computed(GridSample("align_corners = 1"), 20, {x, corners}), Near({0, 5, 2.5, 0}));
  // Not aligned, a quarter of a corner's element is covered.
  EXPECT_THAT(Computed(GridSample("mode = \"bilinear\""), 16, {x, corners}),
              Near({0, 1.25, 2.5, 0}));
  EXPECT_THAT(
      Computed(GridSample("mode = \"nearest\", padding_mode = \"border\""), 16, {x, corners}),
      Near({0, 5, 1, 2}));
  // Mirrored at 2, position 4 is 0.
  EXPECT_THAT(
      Computed(GridSample("padding_mode = \"reflection\", align_corners = 1"), 20, {x, corners}),
      Near({0, 5, 2.5, 1.5}));
  EXPECT_THAT(Computed(GridSample("mode = \"cubic\", align_corners = 1"), 20,
                       {x, {0, -1, 0, 1, -1, -1, 1, -1}}),
              Near({1, 4, 0, 2}));
}

// Slightly outside the border, cubic weights still reach the second column.
TEST(ComputedTest, GridSampleReachesInwards) {
  const Doubles y = Computed(
      "g (float[1,1,1,2] x, float[1,1,1,2] grid) => (float[1,1,1,1] y) "
      "{ y = GridSample<mode = \"cubic\", padding_mode = \"border\", align_corners = 1>(x, grid) }",
      20, {{0, 1}, {2, 0}});
  // Position 1.5: elements 0, 1, 1, 1 with weights that add up to 1, the first at distance 1.5.
  const double d = 1.5, a = -0.75, first = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  EXPECT_THAT(y, Near({1 - first}));
}

TEST(ComputedTest, GridSampleOfNoNumber) {
  const double nan = std::nan("");
  const Doubles y = Computed(GridSample("mode = \"nearest\", padding_mode = \"border\""), 20,
                             {Count(6), {nan, nan, kInf, -kInf, 1e30, 0, -1e30, 0}});
  EXPECT_THAT(y, ElementsAre(0, 2, 2, 0));
}

TEST(ComputedTest, GridSampleInThreeDimensions) {
  EXPECT_THAT(Computed("g (float[1,1,2,2,2] x, float[1,1,1,2,3] grid) => (float[1,1,1,1,2] y) "
                       "{ y = GridSample<align_corners = 1>(x, grid) }",
                       20, {Count(8), {-1, 1, -1, 0, 0, 0}}),
              Near({2, 3.5}));
}

TEST(ComputedTest, AffineGridOfTheIdentity) {
  auto grid = [](const std::string& size, const char* align) {
    return absl::StrCat(
        "g (float[1,2,3] theta) => (float[1,h,w,2] y) { s = Constant<value_ints = [1,1,", size,
        "]>() y = AffineGrid<align_corners = ", align, ">(theta, s) }");
  };
  const Doubles identity = {1, 0, 0, 0, 1, 0};
  EXPECT_THAT(Computed(grid("1,2", "0"), 20, {identity}), ElementsAre(-0.5, 0, 0.5, 0));
  EXPECT_THAT(Computed(grid("2,2", "1"), 20, {identity}), ElementsAre(-1, -1, 1, -1, -1, 1, 1, 1));
  EXPECT_THAT(Refusal(grid("1,2", "1"), 20),
              HasSubstr("unsupported: AffineGrid (align_corners along an axis of one element)"));
}

TEST(ComputedTest, DeformConvWithoutOffsetsIsAConvolution) {
  const std::string attributes = "<pads = [1,0,0,1], strides = [2,1], group = 2>";
  const std::string inputs = "g (float[1,2,4,3] x, float[2,1,2,2] w";
  Doubles x = Count(24), w = Count(8), offset(static_cast<size_t>(8 * 2 * 3), 0.0);
  const Doubles plain =
      Computed(absl::StrCat(inputs, ") => (float[1,2,2,3] y) { y = Conv", attributes, "(x, w) }"),
               17, {x, w});
  const std::string deformed = absl::StrCat(inputs,
                                            ", float[1,8,2,3] o) => (float[1,2,2,3] y) "
                                            "{ y = DeformConv",
                                            attributes, "(x, w, o) }");
  EXPECT_THAT(Computed(deformed, 19, {x, w, offset}), Near(plain));
  // The rows' offset -1 moves the image down; its first row then is 0.
  std::fill(offset.begin(), offset.begin() + 6, -1);
  EXPECT_THAT(Computed(deformed, 19, {x, {1, 0, 0, 0, 0, 0, 0, 0}, offset}),
              Near({0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0}));
}

TEST(ComputedTest, RoiAlignOfARamp) {
  const std::string graph =
      "g (float[1,1,4,4] x, float[1,4] rois) => (float[1,1,2,2] y) { b = Constant<value_ints = "
      "[0]>()"
      " y = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = ";
  // The middles of bins are at rows and columns 1 and 2.
  EXPECT_THAT(Computed(graph + "2>(x, rois, b) }", 16, {Count(16), {1, 1, 3, 3}}),
              Near({5, 6, 9, 10}));
  EXPECT_THAT(Computed(graph + "1>(x, rois, b) }", 10, {Count(16), {0, 0, 2, 2}}),
              Near({2.5, 3.5, 6.5, 7.5}));
  EXPECT_THAT(Refusal(graph + "0>(x, rois, b) }", 16),
              HasSubstr("input 1 'rois' must be a constant"));
}

TEST(ComputedTest, RoiAlignChoosesAsManySamplesAsABinHasElements) {
  EXPECT_THAT(
      Computed("g (float[1,1,4,4] x) => (float[2,1,1,1] y) { b = Constant<value_ints = [0,0]>()"
               " r = Constant<value = float[2,4] {0,0,4,4, 2,2,2,2}>()"
               " y = RoiAlign(x, r, b) }",
               16, {Count(16)}),
      Near({7.5, 0}));
}

TEST(ComputedTest, MaxRoiPool) {
  EXPECT_THAT(Computed("g (float[1,1,4,4] x, float[2,5] rois) => (float[2,1,2,2] y) "
                       "{ y = MaxRoiPool<pooled_shape = [2,2]>(x, rois) }",
                       13, {Count(16), {0, 0, 0, 3, 3, 0, 2, 6, 2, 9}}),
              ElementsAre(5, 7, 13, 15, 0, 0, 0, 0));
}

TEST(ComputedTest, Col2ImAddsWhereBlocksMeet) {
  const std::string constants =
      "{ i = Constant<value_ints = [4]>() b = Constant<value_ints = [2]>() y = Col2Im";
  const std::string graph = "g (float[1,2,3] x) => (float[1,1,4] y) " + constants;
  EXPECT_THAT(Computed(graph + "(x, i, b) }", 18, {{1, 2, 3, 10, 20, 30}}),
              ElementsAre(1, 12, 23, 30));
  // An infinity reaches its own elements only.
  EXPECT_THAT(Computed(graph + "(x, i, b) }", 18, {{kInf, 2, 3, 10, 20, 30}}),
              ElementsAre(kInf, 12, 23, 30));
  EXPECT_THAT(
      Computed(graph + "<pads = [1,1], strides = [2]>(x, i, b) }", 18, {{1, 2, 3, 10, 20, 30}}),
      ElementsAre(10, 2, 20, 3));
  EXPECT_THAT(Computed("g (float[1,4,4] x) => (float[1,1,3,3] y) "
                       "{ i = Constant<value_ints = [3,3]>() b = Constant<value_ints = [2,2]>() "
                       "y = Col2Im(x, i, b) }",
                       18, {Doubles(16, 1)}),
              ElementsAre(1, 2, 1, 2, 4, 2, 1, 2, 1));
}

TEST(ComputedTest, CenterCropPadPutsTheOddElementBehind) {
  const std::string graph = "g (float[4] x) => (float[n] y) { s = Constant<value_ints = [";
  EXPECT_THAT(Computed(graph + "1]>() y = CenterCropPad(x, s) }", 18, {{1, 2, 3, 4}}),
              ElementsAre(2));
  EXPECT_THAT(Computed(graph + "7]>() y = CenterCropPad<axes = [-1]>(x, s) }", 18, {{1, 2, 3, 4}}),
              ElementsAre(0, 1, 2, 3, 4, 0, 0));
}

std::string Resize(const std::string& from, const std::string& to, const std::string& inputs,
                   const std::string& attributes) {
  return absl::StrCat("g (float[", from, "] x) => (float[", to,
                      "] y) { r = Constant<value = float"
                      "[2] {0.25, 1.25}>() s = Constant<value_ints = [",
                      inputs, "]>() y = Resize<", attributes, ">(x, r, , s) }");
}

TEST(ComputedTest, ResizeOfSomeAxesAtOneRatio) {
  EXPECT_THAT(Computed(Resize("2,1,4", "2,2,2", "2,2", "axes = [-1,1]"), 18, {Count(8)}),
              ElementsAre(0, 2, 0, 2, 4, 6, 4, 6));
  EXPECT_THAT(Computed(Resize("1,4", "1,2", "3,2",
                              "axes = [0,1], keep_aspect_ratio_policy = \"not_larger\""),
                       18, {Count(4)}),
              ElementsAre(0, 2));
  EXPECT_EQ(Computed(Resize("1,4", "n,m", "3,2",
                            "axes = [0,1], keep_aspect_ratio_policy = \"not_smaller\""),
                     18, {Count(4)})
                .size(),
            36u);
}

TEST(ComputedTest, ResizeCropsAndExtrapolates) {
  const std::string attributes =
      "coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 9.0, mode = ";
  // Positions 1, 2, … 5 of an axis that ends at 4.
  EXPECT_THAT(Computed(Resize("5", "5", "5", attributes + "\"linear\""), 13, {{0, 10, 20, 30, 40}}),
              Near({10, 20, 30, 40, 9}));
  EXPECT_THAT(
      Computed(Resize("5", "5", "5", attributes + "\"nearest\""), 13, {{0, 10, 20, 30, 40}}),
      Near({10, 20, 30, 40, 9}));
  // The middle of the part.
  EXPECT_THAT(Computed(Resize("5", "1", "1", attributes + "\"linear\""), 13, {{0, 10, 20, 30, 40}}),
              Near({30}));
}

TEST(ComputedTest, ResizeAveragesWhatItLeavesOut) {
  // Weights 1, 3, 3, 1 around the middle of each pair; outside, the border repeats or has no
  // weight.
  const Doubles x = {0, 8, 16, 24};
  EXPECT_THAT(Computed(Resize("4", "2", "2", "mode = \"linear\", antialias = 1"), 18, {x}),
              Near({(3 * 0 + 3 * 8 + 16 + 0) / 8.0, (8 + 3 * 16 + 3 * 24 + 24) / 8.0}));
  EXPECT_THAT(
      Computed(Resize("4", "2", "2", "mode = \"linear\", antialias = 1, exclude_outside = 1"), 18,
               {x}),
      Near({(3 * 0 + 3 * 8 + 16) / 7.0, (8 + 3 * 16 + 3 * 24) / 7.0}));
  // Nothing is left out of an enlarged image.
  EXPECT_THAT(Computed(Resize("2", "4", "4", "mode = \"linear\", antialias = 1"), 18, {{0, 8}}),
              Near({0, 2, 6, 8}));
}

TEST(ComputedTest, ResizeKeepsTheMiddle) {
  const std::string graph =
      "g (float[4] x) => (float[2] y) { s = Constant<value_floats = [0.6]>() "
      "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"";
  // Positions 1.5 - 1/1.2 and 1.5 + 1/1.2.
  EXPECT_THAT(Computed(graph + "half_pixel_symmetric\">(x, , s) }", 19, {Count(4)}),
              Near({1.5 - 1 / 1.2, 1.5 + 1 / 1.2}));
}

TEST(ComputedTest, PadsByCopies) {
  const std::string graph = "g (float[3] x) => (float[n] y) { p = Constant<value_ints = [4,2]>() ";
  EXPECT_THAT(Computed(graph + "y = Pad<mode = \"wrap\">(x, p) }", 19, {{1, 2, 3}}),
              ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(Computed(graph + "y = Pad<mode = \"reflect\">(x, p) }", 19, {{1, 2, 3}}),
              ElementsAre(1, 2, 3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(Computed("g (float[2] x, float v) => (float[4] y) "
                       "{ p = Constant<value_ints = [1,1]>() y = Pad(x, p, v) }",
                       13, {{1, 2}, {7}}),
              ElementsAre(7, 1, 2, 7));
}

TEST(ComputedTest, LpPoolWithAWindowThatSticksOut) {
  EXPECT_THAT(Computed("g (float[1,1,4] x) => (float[1,1,2] y) "
                       "{ y = LpPool<kernel_shape = [3], strides = [2], ceil_mode = 1>(x) }",
                       18, {{1, -2, 2, 4}}),
              Near({3, std::sqrt(20.0)}));
}

TEST(ComputedTest, FourierTransformsToRealNumbers) {
  const std::string inverse = "DFT<inverse = 1, onesided = 1";
  for (int n : {5, 6}) {
    const std::string graph =
        absl::StrCat("g (float[1,", n, ",1] x) => (float[1,", n,
                     ",1] y) { n = Constant<value_int = ", n, ">() X = DFT<onesided = 1>(x) ");
    const Doubles x = {3, -1, 4, 1, -5, 9}, head(x.begin(), x.begin() + n);
    EXPECT_THAT(Computed(graph + "y = " + inverse + ">(X, n) }", 20, {head}), Near(head));
    EXPECT_THAT(Computed(graph + "y = " + inverse + ", axis = 1>(X, n) }", 17, {head}), Near(head));
  }
}

TEST(ComputedTest, FourierTransformOfAnyAxisAndLength) {
  const std::string graph =
      "g (float[2,3,1] x) => (float[2,3,2] y) { a = Constant<value_int = 0>() ";
  EXPECT_THAT(Computed(graph + "y = DFT(x, , a) }", 20, {{1, 2, 3, 4, 5, 6}}),
              Near({5, 0, 7, 0, 9, 0, -3, 0, -3, 0, -3, 0}));
  // Zeros behind, or cut off.
  EXPECT_THAT(Computed("g (float[1,1,1] x) => (float[1,2,2] y) { n = Constant<value_int = 2>() "
                       "y = DFT(x, n) }",
                       20, {{3}}),
              Near({3, 0, 3, 0}));
  EXPECT_THAT(Computed("g (float[1,2,1] x) => (float[1,1,2] y) { n = Constant<value_int = 1>() "
                       "y = DFT(x, n) }",
                       20, {{3, 4}}),
              Near({3, 0}));
}

TEST(ComputedTest, ReductionsOfNothing) {
  auto reduced = [](const char* op, const char* type) {
    return Computed(absl::StrCat("g (", type, "[2,0] x) => (", type,
                                 "[2] y) { a = Constant<value_ints = [1]>() y = ", op,
                                 "<keepdims = 0>(x, a) }"),
                    20, {{}});
  };
  EXPECT_THAT(reduced("ReduceMax", "float"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(reduced("ReduceMin", "double"), ElementsAre(kInf, kInf));
  EXPECT_THAT(reduced("ReduceMax", "int8"), ElementsAre(-128, -128));
  EXPECT_THAT(reduced("ReduceMin", "uint8"), ElementsAre(255, 255));
  EXPECT_THAT(reduced("ReduceMin", "int32"), ElementsAre(2147483647, 2147483647));
  EXPECT_THAT(reduced("ReduceMax", "bool"), ElementsAre(0, 0));
  EXPECT_THAT(reduced("ReduceMin", "bool"), ElementsAre(1, 1));
  EXPECT_THAT(reduced("ReduceLogSumExp", "float"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(reduced("ReduceSumSquare", "float"), ElementsAre(0, 0));
}

TEST(ComputedTest, ReductionsOfIntegersAreCutOff) {
  const std::string graph =
      "g (int32[3] x) => (int32 y) { a = Constant<value_ints = [0]>() y = Reduce";
  EXPECT_THAT(Computed(graph + "Mean<keepdims = 0>(x, a) }", 18, {{-1, -1, -3}}), ElementsAre(-1));
  EXPECT_THAT(Computed(graph + "L2<keepdims = 0>(x, a) }", 18, {{3, 4, 2}}), ElementsAre(5));
  // The sum does not fit into 32 bits.
  EXPECT_THAT(Computed(graph + "Mean<keepdims = 0>(x, a) }", 18, {Doubles(3, 2e9)}),
              ElementsAre(2e9));
}

TEST(ComputedTest, ExtremesOfTruthValues) {
  const std::string graph =
      "g (bool[2,2] x) => (bool[2] y) { a = Constant<value_ints = [1]>() y = ";
  const Doubles x = {1, 0, 0, 0};
  EXPECT_THAT(Computed(graph + "ReduceMax<keepdims = 0>(x, a) }", 20, {x}), ElementsAre(1, 0));
  EXPECT_THAT(Computed(graph + "ReduceMin<keepdims = 0>(x, a) }", 20, {x}), ElementsAre(0, 0));
}

TEST(ComputedTest, Bits) {
  auto bits = [](const char* op, const char* type, Doubles a, Doubles b) {
    const std::string size = absl::StrCat("[", a.size(), "]");
    return Computed(absl::StrCat("g (", type, size, " a, ", type, size, " b) => (", type, size,
                                 " y) { y = ", op, "(a, b) }"),
                    18, {a, b});
  };
  EXPECT_THAT(bits("BitwiseOr", "uint8", {12, 255, 0}, {10, 1, 0}), ElementsAre(14, 255, 0));
  EXPECT_THAT(bits("BitwiseXor", "uint8", {12, 255, 200}, {10, 1, 200}), ElementsAre(6, 254, 0));
  EXPECT_THAT(bits("BitwiseOr", "int8", {-128, -1}, {127, 5}), ElementsAre(-1, -1));
  EXPECT_THAT(bits("BitwiseXor", "int32", {-1, 5}, {0, -3}), ElementsAre(-1, -8));
  EXPECT_THAT(bits("BitShift<direction = \"LEFT\">", "uint8", {3, 255, 1, 1}, {1, 4, 8, 255}),
              ElementsAre(6, 240, 0, 0));
  EXPECT_THAT(bits("BitShift<direction = \"RIGHT\">", "uint8", {3, 255, 255}, {1, 7, 9}),
              ElementsAre(1, 1, 0));
  for (const char* type : {"uint8", "int8"}) {
    const bool is_signed = type[0] == 'i';
    EXPECT_THAT(
        Computed(absl::StrCat("g (", type, "[2] a) => (", type, "[2] y) { y = BitwiseNot(a) }"), 18,
                 {{0, 5}}),
        ElementsAre(is_signed ? -1 : 255, is_signed ? -6 : 250));
  }
}

TEST(ComputedTest, BitCast) {
  EXPECT_THAT(
      Computed("g (float[6] x) => (int32[6] y) { y = BitCast<to = 6>(x) }", 26,
               {{0, -0.0, 1, -2, kInf, 1e-45}}),
      ElementsAre(0, -2147483648.0, 0x3f800000, static_cast<int32_t>(0xc0000000), 0x7f800000, 1));
  EXPECT_THAT(Computed("g (int32[5] x) => (float[5] y) { y = BitCast<to = 1>(x) }", 26,
                       {{0, 0x3f800000, -1082130432, 1, 0x7f7fffff}}),
              ElementsAre(0, 1, -1, std::ldexp(1.0, -149),
                          static_cast<double>(std::numeric_limits<float>::max())));
  EXPECT_THAT(Computed("g (int8[2] x) => (uint8[2] y) { y = BitCast<to = 2>(x) }", 26, {{-1, 5}}),
              ElementsAre(255, 5));
  EXPECT_THAT(Refusal("g (int32[2] x) => (int64[1] y) { y = BitCast<to = 7>(x) }", 26),
              HasSubstr("i32 and i64 have different sizes"));
}

TEST(ComputedTest, DeterminantsOfSmallMatrices) {
  EXPECT_THAT(
      Computed("g (float[2,2,2] x) => (float[2] y) { y = Det(x) }", 11, {{1, 2, 3, 4, 2, 0, 0, 5}}),
      ElementsAre(-2, 10));
  EXPECT_THAT(
      Computed("g (float[3,3] x) => (float y) { y = Det(x) }", 11, {{2, -1, 3, 4, 0, 1, -2, 5, 6}}),
      ElementsAre(76));
  EXPECT_THAT(Refusal("g (float[4,4] x) => (float y) { y = Det(x) }", 11),
              HasSubstr("unsupported: Det (matrices of 4 rows; it may be 1 to 3)"));
}

TEST(ComputedTest, QuantizationInBlocks) {
  const std::string scales =
      "{ s = Constant<value = float[1,2] {0.5, 2.0}>() z = Constant<value = int8[1,2] {1, -1}>() ";
  EXPECT_THAT(Computed("g (float[1,3] x) => (int8[1,3] y) " + scales +
                           "y = QuantizeLinear<axis = 1, block_size = 2>(x, s, z) }",
                       21, {{1, -2, 100}}),
              ElementsAre(3, -3, 49));
  EXPECT_THAT(Computed("g (int8[1,3] x) => (float[1,3] y) " + scales +
                           "y = DequantizeLinear<axis = 1, block_size = 2>(x, s, z) }",
                       21, {{3, -3, 49}}),
              ElementsAre(1, -2, 100));
}

TEST(ComputedTest, PositionsAndValuesOfConstants) {
  EXPECT_THAT(Computed("g () => (int64[2,2] y) { x = Constant<value = float[2,2] {0, 1, 2, 0}>() "
                       "y = NonZero(x) }",
                       13, {}),
              ElementsAre(0, 1, 1, 0));
  const std::string unique = "{ x = Constant<value = int64[2,3] {5, 1, 5, 3, 3, 3}>() ";
  EXPECT_THAT(Computed("g () => (int64[n] y) " + unique + "y = Unique(x) }", 11, {}),
              ElementsAre(1, 3, 5));
  const std::vector<Tensor> all =
      Outputs("g () => (int64[n,m] y, int64[m] f, int64[k] i, int64[m] c) " + unique +
                  "y, f, i, c = Unique<axis = 1, sorted = 0>(x) }",
              11, {});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(all[0].ToInts(), ElementsAre(5, 1, 3, 3));
  EXPECT_THAT(all[1].ToInts(), ElementsAre(0, 1));
  EXPECT_THAT(all[2].ToInts(), ElementsAre(0, 1, 0));
  EXPECT_THAT(all[3].ToInts(), ElementsAre(2, 1));
  EXPECT_THAT(Refusal("g (float[3] x) => (int64[1,n] y) { y = NonZero(x) }", 13),
              HasSubstr("unsupported: NonZero (input 0 'x' must be a constant)"));
}

TEST(ComputedTest, BoxesThatDoNotOverlap) {
  EXPECT_THAT(
      Computed("g () => (int64[2,3] y) { b = Constant<value = float[1,3,4] "
               "{0,0,1,1, 0.1,0.1,1.1,1.1, 5,5,6,6}>() "
               "s = Constant<value = float[1,1,3] {0.8,0.9,0.7}>() n = Constant<value_int = 3>() "
               "t = Constant<value_float = 0.5>() y = NonMaxSuppression(b, s, n, t) }",
               11, {}),
      ElementsAre(0, 0, 1, 0, 0, 2));
}

TEST(ComputedTest, TensorScatterContinuesACache) {
  const std::string graph =
      "g (float[2,3,1] x, float[2,2,1] u) => (float[2,3,1] y) { w = Constant<value_ints = "
      "[1,2]>() ";
  EXPECT_THAT(Computed(graph + "y = TensorScatter<mode = \"circular\">(x, u, w) }", 24,
                       {Count(6), {10, 11, 12, 13}}),
              ElementsAre(0, 10, 11, 13, 4, 12));
  EXPECT_THAT(Computed(graph + "y = TensorScatter(x, u) }", 24, {Count(6), {10, 11, 12, 13}}),
              ElementsAre(10, 11, 2, 12, 13, 5));
}

}  // namespace
}  // namespace lemma
