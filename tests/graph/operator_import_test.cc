// The import of operators of older and newer ONNX operator sets.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

using testing::HasSubstr;

// The statement that makes y, or the error.
std::string Made(const std::string& graph, int opset) {
  auto model = ImportOnnxBytes(OnnxModel(graph, opset).SerializeAsString());
  if (!model.ok()) return std::string(model.status().message());
  const std::string text = PrintGraph(model->graph);
  const size_t begin = text.find("{\n"), end = text.find("\n}");
  return text.substr(begin + 2, end - begin - 2);
}

TEST(OperatorImport, Clip) {
  EXPECT_THAT(Made("g (float[2] x) => (float[2] y) { y = Clip<min = 0.0, max = 6.0>(x) }", 7),
              HasSubstr("y = clip(x) {max = 6.0, min = 0.0}"));
  EXPECT_THAT(Made("g (float[2] x) => (float[2] y) { c = Constant<value_float = 6.0>() "
                   "y = Clip(x, , c) }",
                   13),
              HasSubstr("y = clip(x) {max = 6.0}"));
  EXPECT_THAT(Made("g (float[2] x, float c) => (float[2] y) { y = Clip(x, c) }", 13),
              HasSubstr("y = max(x, c)"));
}

TEST(OperatorImport, Slice) {
  EXPECT_THAT(Made("g (float[4,5] x) => (float[2,4] y) "
                   "{ y = Slice<starts = [1,-9], ends = [-1,4], axes = [0,1]>(x) }",
                   9),
              HasSubstr("y = slice(x) {sizes = [2, 4], starts = [1, 0]}"));
  EXPECT_THAT(Made("g (float[4,5] x) => (float[4,3] y) "
                   "{ s = Constant<value_ints = [-1]>() e = Constant<value_ints = [-99]>() "
                   "a = Constant<value_ints = [1]>() t = Constant<value_ints = [-2]>() "
                   "y = Slice(x, s, e, a, t) }",
                   13),
              HasSubstr("y = slice(x) {sizes = [4, 3], starts = [0, 4], steps = [1, -2]}"));
  EXPECT_THAT(Made("g (float[4] x) => (float[4] y) { y = Slice<starts = [0], ends = [99]>(x) }", 9),
              HasSubstr("return y = x"));
}

TEST(OperatorImport, SplitOfOutputsThatNobodyReads) {
  EXPECT_THAT(Made("g (float[6] x) => (float[2] y) { y, a, b = Split<axis = 0>(x) }", 11),
              HasSubstr("sizes = [2, 2, 2]"));
  EXPECT_THAT(Made("g (float[5] x) => (float[3] y) { y, a = Split<num_outputs = 2>(x) }", 18),
              HasSubstr("sizes = [3, 2]"));
  EXPECT_THAT(Made("g (float[5] x) => (float[3] y) { y, a = Split<split = [3,2]>(x) }", 11),
              HasSubstr("sizes = [3, 2]"));
}

TEST(OperatorImport, Pad) {
  EXPECT_THAT(Made("g (float[2,3] x) => (float[3,5] y) "
                   "{ y = Pad<pads = [1,0,0,2], value = 0.5>(x) }",
                   10),
              HasSubstr("y = pad(x) {pads = [1, 0, 0, 2], value = 0.5}"));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,5] y) { p = Constant<value_ints = [1,1]>() "
                   "a = Constant<value_ints = [-1]>() y = Pad<mode = \"edge\">(x, p, , a) }",
                   18),
              HasSubstr("y = pad(x) {mode = \"edge\", pads = [0, 1, 0, 1]}"));
}

TEST(OperatorImport, ChangesOfShapeAreReshapes) {
  EXPECT_THAT(Made("g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze<axes = [1]>(x) }", 11),
              HasSubstr("y = reshape(x) {shape = [2, 3]}"));
  EXPECT_THAT(
      Made("g (float[2,3] x) => (float[1,2,3,1] y) { y = Unsqueeze<axes = [0,-1]>(x) }", 11),
      HasSubstr("y = reshape(x) {shape = [1, 2, 3, 1]}"));
  EXPECT_THAT(Made("g (float[2,3,4] x) => (float[6,4] y) { y = Flatten<axis = -1>(x) }", 13),
              HasSubstr("y = reshape(x) {shape = [6, 4]}"));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[3] y) { y = Squeeze<axes = [0]>(x) }", 11),
              HasSubstr("dimension 0 of f32[2,3] is not 1"));
}

TEST(OperatorImport, DropoutDoesNothing) {
  EXPECT_THAT(Made("g (float[2] x) => (float[2] y) { y = Dropout<ratio = 0.3>(x) }", 7),
              HasSubstr("return y = x"));
  EXPECT_THAT(Made("g (float[2] x) => (float[2] y) { r = Constant<value_float = 0.3>() "
                   "t = Constant<value = bool {1}>() y = Dropout(x, r, t) }",
                   13),
              HasSubstr("opaque(x, r, t)"));
}

// The product of a size and a scale is rounded to f32 before it is truncated.
TEST(OperatorImport, ScaledSizesAreThoseOfOnnx) {
  struct Case {
    int size, scaled;
    const char* scale;
  };
  for (const Case& c : {Case{10, 7, "0.7"},
                        {10, 9, "0.9"},
                        {20, 7, "0.35"},
                        {10, 23, "2.3"},
                        {30, 21, "0.7"},
                        {9, 3, "0.33333334"},
                        {11, 7, "0.7"}}) {
    const std::string size = std::to_string(c.size), scaled = std::to_string(c.scaled);
    EXPECT_THAT(Made("g (float[1,1," + size + ",4] x) => (float[1,1," + scaled + ",4] y) " +
                         "{ s = Constant<value_floats = [1.0,1.0," + c.scale + ",1.0]>() " +
                         "y = Resize(x, , s) }",
                     13),
                HasSubstr("sizes = [1, 1, " + scaled + ", 4]"))
        << c.size << " by " << c.scale;
  }
}

// Positions are f32 numbers: 18 / 1.2 is less than 15, since 1.2 is rounded up.
TEST(OperatorImport, NearestElementsAreThoseOfOnnxRuntime) {
  const auto model = ImportOnnxBytes(
      OnnxModel("g (float[18] x) => (float[21] y) { y = Upsample<scales = [1.2]>(x) }", 7)
          .SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.status();
  const Node& gather = model->graph.outputs()[0].node();
  ASSERT_EQ(gather.op().name, "gather");
  EXPECT_THAT(
      gather.inputs()[1].node().payload().ToInts(),
      testing::ElementsAre(0, 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 14, 15, 16));
  // Exact positions stay a formula.
  EXPECT_THAT(Made("g (float[18] x) => (float[27] y) { y = Upsample<scales = [1.5]>(x) }", 7),
              HasSubstr("y = resize_nearest(x) {add = [0], by = [3], mul = [2], sizes = [27]}"));
}

TEST(OperatorImport, ResizeOfSet10ShowsTheGreaterPositionWhereItShrinks) {
  const auto resized = [](const std::string& scales, const std::string& sizes) {
    return Made("g (float[2,4] x) => (float" + sizes +
                    " y) { s = Constant<value_floats = " + scales + ">() y = Resize(x, s) }",
                10);
  };
  EXPECT_THAT(resized("[0.5,0.75]", "[1,3]"),
              HasSubstr("y = resize_nearest(x) {add = [0, 2], by = [1, 3], mul = [1, 4], "
                        "sizes = [1, 3]}"));
  EXPECT_THAT(resized("[2.0,2.0]", "[4,8]"), HasSubstr("by = [2, 2]"));
}

TEST(OperatorImport, EveryWayToDoubleElementsIsOne) {
  const char expected[] =
      "y = resize_nearest(x) {add = [0, 0], by = [1, 2], mul = [1, 1], sizes = [2, 6]}";
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,6] y) { y = Upsample<scales = [1.0,2.0]>(x) }", 7),
              HasSubstr(expected));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,6] y) "
                   "{ s = Constant<value_floats = [1.0,2.0]>() y = Resize(x, s) }",
                   10),
              HasSubstr(expected));
  for (const char* mode : {"half_pixel", "asymmetric", "pytorch_half_pixel"}) {
    EXPECT_THAT(Made(std::string("g (float[2,3] x) => (float[2,6] y) "
                                 "{ s = Constant<value_ints = [2,6]>() "
                                 "y = Resize<nearest_mode = \"") +
                         (mode[0] == 'a' ? "floor" : "round_prefer_floor") +
                         "\", coordinate_transformation_mode = \"" + mode + "\">(x, , , s) }",
                     13),
                HasSubstr(expected))
        << mode;
  }
}

// The source of element `i` of `output` by ONNX's formulas in floating point. A position within
// 1e-9 of a boundary counts as on it.
int64_t NearestSource(const std::string& mode, const std::string& rounding, int64_t input,
                      int64_t output, int64_t i) {
  const double scale = static_cast<double>(output) / static_cast<double>(input);
  double at = i / scale;
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && output > 1)) {
    at = (i + 0.5) / scale - 0.5;
  } else if (mode == "pytorch_half_pixel") {
    at = 0;
  } else if (mode == "align_corners") {
    at = output > 1 ? static_cast<double>(i * (input - 1)) / static_cast<double>(output - 1) : 0;
  }
  constexpr double kTie = 1e-9;
  double from = std::floor(at + kTie);
  if (rounding == "ceil") from = std::ceil(at - kTie);
  if (rounding == "round_prefer_floor") from = std::ceil(at - 0.5 - kTie);
  if (rounding == "round_prefer_ceil") from = std::floor(at + 0.5 + kTie);
  return std::min<int64_t>(std::max<int64_t>(static_cast<int64_t>(from), 0), input - 1);
}

TEST(OperatorImport, NearestElementsAreOnnxs) {
  for (std::string mode : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    for (std::string rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}) {
      for (int64_t input = 1; input <= 6; ++input) {
        for (int64_t output = 1; output <= 9; ++output) {
          if (input == output) continue;
          auto model =
              ImportOnnxBytes(OnnxModel(absl::StrCat("g (float[", input, "] x) => (float[", output,
                                                     "] y) { s = Constant<value_ints = [", output,
                                                     "]>() y = Resize<nearest_mode = \"", rounding,
                                                     "\", coordinate_transformation_mode = \"",
                                                     mode, "\">(x, , , s) }"),
                                        13)
                                  .SerializeAsString());
          ASSERT_TRUE(model.ok()) << model.status();
          std::vector<double> x(static_cast<size_t>(input)), expected;
          std::iota(x.begin(), x.end(), 0);
          for (int64_t i = 0; i < output; ++i) {
            expected.push_back(
                static_cast<double>(NearestSource(mode, rounding, input, output, i)));
          }
          auto definition = DefinitionOf(model->graph.outputs()[0].node());
          ASSERT_TRUE(definition.ok()) << definition.status();
          auto values = OutputsNaively(*definition, {x});
          ASSERT_TRUE(values.ok()) << values.status();
          EXPECT_EQ((*values)[0], expected)
              << mode << " " << rounding << " " << input << " to " << output;
        }
      }
    }
  }
}

TEST(OperatorImport, InterpolationIsAWeightedSum) {
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,6] y) { s = Constant<value_ints = [2,6]>() "
                   "y = Resize<mode = \"linear\">(x, , , s) }",
                   13),
              HasSubstr("resample("));
}

TEST(OperatorImport, VariadicOperatorsAreChains) {
  const std::string sum = Made(
      "g (float[2] a, float[2] b, float[2] c) => (float[2] y) "
      "{ y = Sum(a, b, c) }",
      8);
  EXPECT_THAT(sum, HasSubstr("= add(a, b)"));
  EXPECT_THAT(sum, HasSubstr("y = add("));
  EXPECT_THAT(Made("g (float[2] a, float[2] b) => (float[2] y) { y = Mean(a, b) }", 8),
              HasSubstr("scalar_mul("));
  EXPECT_THAT(Made("g (float[2] a) => (float[2] y) { y = Max(a) }", 8), HasSubstr("return y = a"));
}

TEST(OperatorImport, PowersOfMixedTypes) {
  EXPECT_THAT(Made("g (float[2] a, int64[2] b) => (float[2] y) { y = Pow(a, b) }", 12),
              HasSubstr("cast(b) {dtype = \"f32\"}"));
  const std::string whole =
      Made("g (int64[2] a, float[2] b) => (int64[2] y) { y = Pow(a, b) }", 12);
  EXPECT_THAT(whole, HasSubstr("cast(a) {dtype = \"f32\"}"));
  EXPECT_THAT(whole, HasSubstr("{dtype = \"i64\"}"));
}

}  // namespace
}  // namespace lemma
