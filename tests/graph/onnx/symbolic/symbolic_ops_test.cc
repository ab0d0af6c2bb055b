// Single ONNX operators on tensors of symbolic sizes.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/graph/onnx/symbolic/all_sizes.h"

namespace lemma {
namespace {

const std::vector<DimValues> kSizes = {
    {{"batch", 1}, {"seq", 1}}, {{"batch", 2}, {"seq", 7}}, {{"batch", 3}, {"seq", 4}}};

struct Case {
  const char *inputs, *nodes, *output;
  int opset = 17;
};

// The import of `model` for all sizes is, at some sizes, the import for them; after an export,
// whose operators round elsewhere, nearly so.
void ExpectNearOneModel(const std::string& model) {
  auto symbolic = ImportOnnxBytes(model, Symbolic());
  ASSERT_TRUE(symbolic.ok()) << symbolic.status();
  auto written = ExportOnnx(symbolic->graph);
  ASSERT_TRUE(written.ok()) << written.status();
  auto again = ImportOnnxBytes(*written, Symbolic());
  ASSERT_TRUE(again.ok()) << again.status();
  for (const DimValues& sizes : kSizes) {
    ImportOptions numbers;
    numbers.dims = InputSizes(symbolic->graph, sizes);
    auto sized = ImportOnnxBytes(model, numbers);
    ASSERT_TRUE(sized.ok()) << sized.status();
    ExpectSame(*Specialize(symbolic->graph, sizes), sized->graph, "specialized");
    const Tensor x = RunOnReference(sized->graph)[0];
    const Tensor y = RunOnReference(*Specialize(again->graph, sizes))[0];
    ASSERT_EQ(x.type(), y.type());
    for (int64_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x.AtDouble(i), y.AtDouble(i), 1e-5);
  }
}

class SymbolicOpsTest : public testing::TestWithParam<Case> {};

TEST_P(SymbolicOpsTest, IsOneModelForAllSizes) {
  const Case& c = GetParam();
  ExpectOneModelForAllSizes(
      OnnxModel(absl::StrCat("g (", c.inputs, ") => (", c.output, " y) {", c.nodes, "}"), c.opset),
      kSizes);
}

constexpr char kRows[] = "float[batch,seq,8] x";
constexpr char kImage[] = "float[batch,8,seq,5] x";

INSTANTIATE_TEST_SUITE_P(
    Products, SymbolicOpsTest,
    testing::Values(Case{"float[batch,seq,8] x, float[batch,8,4] w",
                         "y = Einsum<equation = \"bij,bjk->bik\">(x, w)", "float[batch,seq,4]"},
                    Case{"float[batch,seq,2,4] x, float[batch,seq,2,4] w",
                         "y = Einsum<equation = \"bqhd,bkhd->bhqk\">(x, w)",
                         "float[batch,2,seq,seq]"},
                    Case{"float[batch,seq,8] x, float[8,4] w",
                         "y = Einsum<equation = \"...j,jk->...k\">(x, w)", "float[batch,seq,4]"},
                    Case{"float[batch,seq,3,3] x", "y = Einsum<equation = \"...ii->...i\">(x)",
                         "float[batch,seq,3]"},
                    Case{"uint8[batch,seq,4] x, int8[4,3] w, uint8 z", "y = MatMulInteger(x, w, z)",
                         "int32[batch,seq,3]"}));

INSTANTIATE_TEST_SUITE_P(
    Quantization, SymbolicOpsTest,
    testing::Values(Case{kRows,
                         "s = Constant<value_float = 0.05>() z = Constant<value = uint8 {128}>() "
                         "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
                         "float[batch,seq,8]"},
                    Case{kRows, "q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z)",
                         "float[batch,seq,8]"},
                    Case{"uint8[batch,seq,4] a, float s, uint8 z, uint8[4,3] w",
                         "y = QLinearMatMul(a, s, z, w, s, z, s, z)", "uint8[batch,seq,3]"},
                    Case{"uint8[batch,2,seq,3] x, float s, uint8 z, uint8[4,2,1,1] w",
                         "y = QLinearConv(x, s, z, w, s, z, s, z)", "uint8[batch,4,seq,3]"},
                    Case{"uint8[batch,2,seq,3] x, uint8[4,2,1,1] w", "y = ConvInteger(x, w)",
                         "int32[batch,4,seq,3]"}));

INSTANTIATE_TEST_SUITE_P(
    Layouts, SymbolicOpsTest,
    testing::Values(
        Case{kImage, "y = DepthToSpace<blocksize = 2, mode = \"CRD\">(x)", "float[batch,2,h,10]"},
        Case{"float[batch,seq,4,6] x", "y = SpaceToDepth<blocksize = 2>(x)", "float[batch,c,2,3]"},
        Case{"int64[batch,seq] x",
             "d = Constant<value_int = 4>() v = Constant<value_floats = [0.5, 2.0]>() "
             "y = OneHot<axis = 1>(x, d, v)",
             "float[batch,4,seq]"},
        Case{"float[batch,seq] x", "y = EyeLike<k = 1>(x)", "float[batch,seq]"},
        Case{"float[seq,batch] x", "y = EyeLike<k = -2, dtype = 7>(x)", "int64[seq,batch]"},
        Case{"float[seq,batch,2] x, int64[batch] n",
             "y = ReverseSequence(x, m) o = Constant<value_int = 1>() m = Min(n, o)",
             "float[seq,batch,2]"},
        Case{"float[batch,seq] x, int64[batch,1] i, float[batch,1] u",
             "y = ScatterElements<axis = 1>(x, j, u) o = Constant<value_int = 0>() j = Min(i, o)",
             "float[batch,seq]"},
        Case{"float[3,seq] x, int64[2,1] i, float[2,seq] u", "y = ScatterND(x, i, u)",
             "float[3,seq]"},
        Case{"float[batch,seq,8] x", "k = Constant<value_ints = [3]>() y, i = TopK(x, k)",
             "float[batch,seq,3]"},
        Case{"float[batch,seq] x",
             "s = Shape(x) o = Constant<value_ints = [1]>() k = Gather(s, o) y, i = TopK(x, k)",
             "float[batch,seq]"}));

// Only sizes that are numbers change; a size becomes that of another tensor.
INSTANTIATE_TEST_SUITE_P(
    Resize, SymbolicOpsTest,
    testing::Values(
        Case{"float[batch,2,5,3] x",
             "h = Shape<end = 2>(x) w = Constant<value_ints = [7, 2]>() s = Concat<axis = 0>(h, w) "
             "y = Resize<mode = \"nearest\">(x, , , s)",
             "float[batch,2,7,2]"},
        Case{"float[2,2,batch,3] x, float[2,2,seq,5] z",
             "s = Shape(z) y = Resize<mode = \"nearest\", coordinate_transformation_mode = "
             "\"asymmetric\", nearest_mode = \"floor\">(x, , , s)",
             "float[2,2,seq,5]"}));

// ONNX has no operator for it: its parts round in between.
TEST(SymbolicOpsTest, InterpolatesNumbersBesideASymbolicBatch) {
  ExpectNearOneModel(
      OnnxModel("g (float[batch,2,5,3] x) => (float[batch,2,8,6] y) { s = Constant<value_floats = "
                "[1.0, 1.0, 1.6, 2.0]>() y = Resize<mode = \"cubic\">(x, , s) }")
          .SerializeAsString());
}

TEST(SymbolicOpsTest, InterpolatesToTheSizeOfAnotherTensor) {
  for (const char* mode : {"half_pixel", "asymmetric"}) {
    const std::string model =
        OnnxModel(absl::StrCat("g (float[2,2,batch,3] x, float[2,2,seq,5] z) => "
                               "(float[2,2,seq,5] y) { s = Shape(z) y = Resize<mode = \"linear\", "
                               "coordinate_transformation_mode = \"",
                               mode, "\">(x, , , s) }"))
            .SerializeAsString();
    ExpectNearOneModel(model);
  }
}

// The padding SAME depends on whether the size is even.
INSTANTIATE_TEST_SUITE_P(
    Windows, SymbolicOpsTest,
    testing::Values(
        Case{"float[batch,2,seq,9] x, float[4,2,3,3] w",
             "y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)",
             "float[batch,4,half,5]"},
        Case{"float[batch,2,seq,9] x, float[4,2,4,2] w",
             "y = Conv<auto_pad = \"SAME_LOWER\", strides = [3, 2]>(x, w)",
             "float[batch,4,part,5]"},
        Case{"float[batch,2,seq,9] x, float[4,2,3,3] w, float[4,4,3,3] v",
             "a = Conv<auto_pad = \"SAME_LOWER\", strides = [2, 2]>(x, w)"
             " y = Conv<auto_pad = \"SAME_LOWER\", strides = [2, 2]>(a, v)",
             "float[batch,4,part,3]"},
        Case{"float[batch,2,seq] x, float[4,2,1] w",
             "y = Conv<auto_pad = \"SAME_UPPER\", strides = [2]>(x, w)", "float[batch,4,half]"},
        // Equal sizes by other padding.
        Case{"float[batch,2,seq,9] x, float[2,2,3,3] w, float[2,2,1,1] v",
             "a = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)"
             " b = Conv<strides = [2, 2]>(x, v)"
             " c = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)"
             " d = Add(a, b) y = Add(c, d)",
             "float[batch,2,half,5]"},
        Case{kImage,
             "y = MaxPool<kernel_shape = [3, 2], auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x)",
             "float[batch,8,half,3]"},
        Case{kImage,
             "y = AveragePool<kernel_shape = [2, 2], auto_pad = \"SAME_LOWER\", strides = [2, "
             "2]>(x)",
             "float[batch,8,half,3]"},
        Case{kImage,
             "y = AveragePool<kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\", strides = [2, 2],"
             " count_include_pad = 1>(x)",
             "float[batch,8,half,3]"},
        Case{"float[batch,2,seq,3,4] x",
             "y = MaxPool<kernel_shape = [3, 2, 2], pads = [1, 0, 0, 1, 0, 0], strides = [2, 1, "
             "2]>(x)",
             "float[batch,2,half,2,2]"},
        Case{"float[batch,2,seq,3,4] x",
             "y = AveragePool<kernel_shape = [1, 2, 2], strides = [1, 1, 2]>(x)",
             "float[batch,2,seq,2,2]"},
        Case{"float[batch,2,seq,3,4] x, float[4,2,3,2,2] w, float[4] b",
             "y = Conv<pads = [1, 0, 0, 1, 0, 0], strides = [2, 1, 1]>(x, w, b)",
             "float[batch,4,half,2,3]"},
        Case{"float[batch,2,seq,seq,4] x, float[4,1,3,3,2] w",
             "y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2, 1], group = 2>(x, w)",
             "float[batch,4,half,half,4]"}));

// A window of several elements that is shorter than the stride: which padding it has depends on
// more than the parity of the size.
TEST(SymbolicOpsTest, WindowsWithGapsNeedNumbers) {
  const auto model = OnnxModel(
      "g (float[batch,2,seq,9] x, float[4,2,2,2] w) => (float[batch,4,part,3] y) {"
      " y = Conv<auto_pad = \"SAME_UPPER\", strides = [3, 3]>(x, w) }");
  auto imported = ImportOnnxBytes(model.SerializeAsString(), Symbolic());
  EXPECT_THAT(std::string(imported.status().message()),
              testing::HasSubstr("auto_pad SAME_UPPER with a stride of 3, windows of 2 and a "
                                 "symbolic size"));
}

// Grids of random numbers in [-1, 1], and of three times them, which leave the image.
INSTANTIATE_TEST_SUITE_P(
    Sampling, SymbolicOpsTest,
    testing::Values(Case{"float[batch,2,seq,5] x, float[batch,seq,3,2] g", "y = GridSample(x, g)",
                         "float[batch,2,seq,3]"},
                    Case{"float[batch,2,seq,5] x, float[batch,3,4,2] g",
                         "k = Constant<value_float = 3.0>() s = Mul(g, k)"
                         " y = GridSample<padding_mode = \"reflection\">(x, s)",
                         "float[batch,2,3,4]"},
                    Case{"float[batch,2,seq,5] x, float[batch,3,4,2] g",
                         "k = Constant<value_float = 3.0>() s = Mul(g, k)"
                         " y = GridSample<padding_mode = \"border\", align_corners = 1>(x, s)",
                         "float[batch,2,3,4]"},
                    Case{"float[batch,2,seq,5] x, float[batch,3,4,2] g",
                         "k = Constant<value_float = 3.0>() s = Mul(g, k)"
                         " y = GridSample<mode = \"nearest\", align_corners = 1>(x, s)",
                         "float[batch,2,3,4]"},
                    Case{"float[2,batch,5,seq] x, float[2,seq,batch,2] g",
                         "y = GridSample<mode = \"bicubic\", padding_mode = \"border\">(x, g)",
                         "float[2,batch,seq,batch]"}));

// Mirrored at the first and the last element, an axis of one element has no second border.
TEST(SymbolicOpsTest, AMirroredGridNeedsTwoElements) {
  const auto model = OnnxModel(
      "g (float[batch,2,seq,5] x, float[batch,3,4,2] g) => (float[batch,2,3,4] y) {"
      " k = Constant<value_float = 3.0>() s = Mul(g, k)"
      " y = GridSample<padding_mode = \"reflection\", align_corners = 1>(x, s) }");
  auto imported = ImportOnnxBytes(model.SerializeAsString(), Symbolic());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->opaque.size(), 1);
  EXPECT_THAT(imported->opaque[0], testing::HasSubstr("a symbolic size that may be 1"));
  ExpectOneModelForAllSizes(model, {{{"batch", 1}, {"seq", 2}}, {{"batch", 3}, {"seq", 7}}},
                            {{"seq", {2, 64}}});
}

INSTANTIATE_TEST_SUITE_P(
    Normalizations, SymbolicOpsTest,
    testing::Values(Case{kRows, "y = Hardmax(x)", "float[batch,seq,8]"},
                    Case{kImage, "y = LRN<size = 3>(x)", "float[batch,8,seq,5]"},
                    Case{kRows, "y = LpNormalization<axis = 1>(x)", "float[batch,seq,8]"},
                    Case{kImage, "y = GlobalLpPool<p = 3>(x)", "float[batch,8,1,1]"},
                    Case{kImage, "y = MeanVarianceNormalization<axes = [0, 2, 3]>(x)",
                         "float[batch,8,seq,5]"}));

INSTANTIATE_TEST_SUITE_P(
    ElementWise, SymbolicOpsTest,
    testing::Values(Case{kRows, "y = Shrink<lambd = 0.25>(x)", "float[batch,seq,8]"},
                    Case{kRows, "r = Log(x) y = IsNaN(r)", "bool[batch,seq,8]"},
                    Case{kRows, "y = IsInf(x)", "bool[batch,seq,8]"},
                    Case{"uint8[batch,seq] x, uint8[seq] w",
                         "y = BitShift<direction = \"LEFT\">(x, w)", "uint8[batch,seq]"},
                    Case{"int32[batch,seq] x", "y = BitwiseNot(x)", "int32[batch,seq]", 18}));

INSTANTIATE_TEST_SUITE_P(
    Recurrent, SymbolicOpsTest,
    testing::Values(Case{"float[4,batch,2] x, float[1,12,2] w, float[1,12,3] r",
                         "y = LSTM<hidden_size = 3>(x, w, r)", "float[4,1,batch,3]"},
                    Case{"float[3,batch,2] x, float[2,9,2] w, float[2,9,3] r, int32[batch] n",
                         "y = GRU<hidden_size = 3, direction = \"bidirectional\">(x, w, r, , n)",
                         "float[3,2,batch,3]"},
                    Case{"float[batch,2,2] x, float[1,3,2] w, float[1,3,3] r, float[batch,1,3] h",
                         "y = RNN<hidden_size = 3, layout = 1>(x, w, r, , , h)",
                         "float[batch,2,1,3]"}));

// ONNX has no such operator before set 21: its parts round in between.
// A file that is written has a reshape of the result, whose size is less than 1 where the input is
// shorter than the window.
TEST(SymbolicOpsTest, AWindowMayBeLongerThanShortInputs) {
  onnx::ModelProto model = OnnxModel(R"(g (float[batch,seq] x) => (float[A,B,C,D] y) {
    one = Constant<value_ints = [1]>() two = Constant<value_ints = [2]>()
    u = Unsqueeze(x, one)
    c = Conv<kernel_shape = [5], strides = [3]>(u, w)
    y = Unsqueeze(c, two) })");
  AddOnes(&model, "w", {4, 1, 5});
  ExpectOneModelForAllSizes(model, {{{"batch", 1}, {"seq", 5}}, {{"batch", 3}, {"seq", 19}}});
}

TEST(SymbolicOpsTest, GroupNormalizationIsWrittenAsParts) {
  const std::string model =
      OnnxModel(
          "g (float[batch,8,seq,5] x, float[8] s, float[8] b) => (float[batch,8,seq,5] y) {"
          " y = GroupNormalization<num_groups = 2>(x, s, b) }",
          21)
          .SerializeAsString();
  ExpectNearOneModel(model);
}

// The number of steps has to be a number; the operator is kept, with its sizes.
TEST(SymbolicOpsTest, KeepsAnLstmOfSymbolicLength) {
  const auto model = OnnxModel(
      "g (float[seq,batch,2] x, float[1,12,2] w, float[1,12,3] r) => (float[seq,1,batch,3] z) { "
      "y = LSTM<hidden_size = 3>(x, w, r) z = Relu(y) }");
  auto imported = ImportOnnxBytes(model.SerializeAsString(), Symbolic());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->opaque.size(), 1);
  EXPECT_EQ(imported->opaque[0],
            "node of 'y' (LSTM of operator set 17): unsupported: LSTM (a symbolic number of time "
            "steps)");
  EXPECT_EQ(imported->graph.outputs()[0].type().ToString(), "f32[seq,1,batch,3]");
}

}  // namespace
}  // namespace lemma
