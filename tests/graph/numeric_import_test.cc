// The import of ONNX's convolutions, poolings, reductions and normalizations.
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The statements of the graph, or the error or the reason why it is opaque.
std::string Made(const std::string& graph, int opset = 17) {
  auto model = ImportOnnxBytes(OnnxModel(graph, opset).SerializeAsString());
  if (!model.ok()) return std::string(model.status().message());
  if (!model->opaque.empty()) return model->opaque.front();
  const std::string text = PrintGraph(model->graph);
  const size_t begin = text.find("{\n"), end = text.find("\n}");
  return text.substr(begin + 2, end - begin - 2);
}

TEST(ImportConv, ResolvesAutoPad) {
  auto conv = [](const std::string& attrs) {
    return Made("g (float[1,2,6,5] x, float[3,2,3,2] w) => (float[?,?,?,?] y) { y = Conv<" + attrs +
                ">(x, w) }");
  };
  EXPECT_THAT(conv("auto_pad = \"SAME_UPPER\", strides = [2,2]"), HasSubstr("pads = [0, 0, 1, 1]"));
  EXPECT_THAT(conv("auto_pad = \"SAME_LOWER\", strides = [2,2]"), HasSubstr("pads = [1, 1, 0, 0]"));
  EXPECT_THAT(conv("auto_pad = \"SAME_UPPER\", dilations = [2,1]"),
              HasSubstr("pads = [2, 0, 2, 1]"));
  EXPECT_THAT(conv("auto_pad = \"VALID\""), Not(HasSubstr("pads")));
  EXPECT_THAT(conv("auto_pad = \"SAME\""), HasSubstr("auto_pad is SAME, it must be NOTSET"));
  EXPECT_THAT(conv("kernel_shape = [3,3]"), HasSubstr("does not fit the weight [3,2,3,2]"));
  EXPECT_THAT(conv("pads = [1,1]"), HasSubstr("must have 2, 2 and 4 entries"));
}

TEST(ImportConv, OneSpatialAxisIsAHeightOfOne) {
  EXPECT_THAT(Made("g (float[1,2,9] x, float[4,1,3] w) => (float[1,4,4] y) "
                   "{ y = Conv<strides = [2], pads = [0,0], group = 2>(x, w) }"),
              AllOf(HasSubstr("reshape(x) {shape = [1, 2, 1, 9]}"),
                    HasSubstr("reshape(w) {shape = [4, 1, 1, 3]}"),
                    HasSubstr("{groups = 2, strides = [1, 2]}"), HasSubstr("{shape = [1, 4, 4]}")));
}

TEST(ImportConv, ThreeSpatialAxesMakeDepthAChannel) {
  EXPECT_THAT(Made("g (float[1,2,5,6,6] x, float[3,2,2,3,3] w) => (float[1,3,4,4,4] y) "
                   "{ y = Conv(x, w) }"),
              AllOf(HasSubstr("starts = [0, 0, 1, 0, 0]"), HasSubstr("conv2d"),
                    HasSubstr("{shape = [3, 4, 3, 3]}")));
}

TEST(ImportConvTranspose, OutputShapeDecidesThePadding) {
  auto conv = [](const std::string& attrs) {
    return Made(
        "g (float[1,1,3,3] x, float[1,2,3,3] w) => (float[?,?,?,?] y) "
        "{ y = ConvTranspose<strides = [3,2], " +
        attrs + ">(x, w) }");
  };
  EXPECT_THAT(conv("output_shape = [10,8]"), HasSubstr("output_padding = [1, 1]"));
  EXPECT_THAT(conv("output_shape = [6,6]"), HasSubstr("pads = [2, 1, 1, 0]"));
  EXPECT_THAT(conv("output_shape = [1,2,10,8]"), HasSubstr("output_padding = [1, 1]"));
  EXPECT_THAT(conv("output_shape = [6]"), HasSubstr("output_shape must have 2 entries"));
}

TEST(ImportPool, OneAndThreeSpatialAxes) {
  EXPECT_THAT(Made("g (float[1,2,9] x) => (float[1,2,4] y) "
                   "{ y = MaxPool<kernel_shape = [3], strides = [2]>(x) }"),
              HasSubstr("{kernel = [1, 3], strides = [1, 2]}"));
  EXPECT_THAT(Made("g (float[1,2,4,6,8] x) => (float[1,2,3,4,5] y) "
                   "{ y = AveragePool<kernel_shape = [2,3,4]>(x) }"),
              AllOf(HasSubstr("{kernel = [3, 4]}"), HasSubstr("{kernel = [2, 1]}")));
}

TEST(ImportPool, OptionsOfAllOperatorSets) {
  EXPECT_THAT(Made("g (float[1,2,8,8] x) => (float[1,2,4,4] y) { y = AveragePool<kernel_shape = "
                   "[3,3], strides = [2,2], ceil_mode = 1, count_include_pad = 1>(x) }",
                   11),
              AllOf(HasSubstr("ceil_mode = 1"), HasSubstr("count_include_pad = 1")));
  EXPECT_THAT(Made("g (float[1,2,8,8] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }"),
              HasSubstr("y = reduce_mean(x) {axes = [2, 3], keepdims = 1}"));
  EXPECT_THAT(Made("g (float[1,2,8,8] x) => (float[1,2,1,1] y) { y = GlobalLpPool<p = 1>(x) }"),
              AllOf(HasSubstr("abs(x)"), HasSubstr("reduce_sum")));
  EXPECT_THAT(Made("g (float[1,2,8,8] x) => (float[1,2,7,7] y) "
                   "{ y = LpPool<kernel_shape = [2,2], p = 1>(x) }"),
              AllOf(HasSubstr("abs(x)"), HasSubstr("avg_pool2d"), HasSubstr("fill 4.0")));
}

TEST(ImportReduce, AxesAreAnAttributeOrAnInput) {
  EXPECT_THAT(Made("g (float[2,3,4] x) => (float[2,4] y) "
                   "{ y = ReduceSum<axes = [-2], keepdims = 0>(x) }",
                   11),
              HasSubstr("y = reduce_sum(x) {axes = [1]}"));
  EXPECT_THAT(Made("g (float[2,3,4] x) => (float[1,3,1] y) "
                   "{ a = Constant<value_ints = [-1,0]>() y = ReduceSum(x, a) }",
                   13),
              HasSubstr("y = reduce_sum(x) {axes = [0, 2], keepdims = 1}"));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[1,1] y) { y = ReduceSum(x) }", 13),
              HasSubstr("{axes = [0, 1], keepdims = 1}"));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,3] y) "
                   "{ y = ReduceSum<noop_with_empty_axes = 1>(x) }",
                   13),
              HasSubstr("y = x"));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2] y) { y = ReduceMax<axes = [2]>(x) }"),
              HasSubstr("axis 2 is outside a tensor of rank 2"));
}

TEST(ImportSoftmax, FlattenedBeforeOperatorSet13) {
  const std::string graph = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }";
  EXPECT_THAT(Made(graph, 13), HasSubstr("y = softmax(x) {axis = 1}"));
  EXPECT_THAT(Made(graph, 11), AllOf(HasSubstr("reshape(x) {shape = [2, 12]}"),
                                     HasSubstr("{axis = 1}"), HasSubstr("{shape = [2, 3, 4]}")));
  EXPECT_THAT(Made("g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }", 11),
              HasSubstr("y = softmax(x) {axis = 1}"));
}

TEST(ImportGemm, SpelledOut) {
  const std::string head = "g (float[3,2] a, float[4,3] b, float[4] c) => (float[2,4] y) ";
  EXPECT_THAT(
      Made(head + "{ y = Gemm<transA = 1, transB = 1, alpha = 0.5, beta = 0.25>(a, b, c) }"),
      AllOf(HasSubstr("transpose(a)"), HasSubstr("transpose(b)"), HasSubstr("matmul("),
            HasSubstr("fill 0.5"), HasSubstr("fill 0.25"), HasSubstr("y = add(")));
  EXPECT_THAT(Made("g (float[2,3] a, float[3,4] b) => (float[2,4] y) { y = Gemm(a, b) }"),
              HasSubstr("y = matmul(a, b)"));
  EXPECT_THAT(Made("g (float[1,3] a, float[3,4] b, float[2,4] c) => (float[1,4] y) "
                   "{ y = Gemm(a, b, c) }"),
              HasSubstr("C [2,4] does not broadcast to [1,4]"));
}

TEST(ImportMatMul, VectorsAreRowsAndColumns) {
  EXPECT_THAT(Made("g (float[3] a, float[3] b) => (float y) { y = MatMul(a, b) }"),
              AllOf(HasSubstr("reshape(a) {shape = [1, 3]}"),
                    HasSubstr("reshape(b) {shape = [3, 1]}"), HasSubstr("{shape = []}")));
  EXPECT_THAT(Made("g (float[3] a, float[5,3,2] b) => (float[5,2] y) { y = MatMul(a, b) }"),
              HasSubstr("{shape = [5, 2]}"));
}

TEST(ImportEinsum, ProductOfTwoIsAMatmul) {
  auto einsum = [](const std::string& equation, const std::string& out = "?,?") {
    return Made("g (float[2,3,4] a, float[2,5,4] b) => (float[" + out +
                "] y) { y = Einsum<equation = \"" + equation + "\">(a, b) }");
  };
  EXPECT_THAT(einsum("bij,bkj->bik", "?,?,?"),
              AllOf(HasSubstr("transpose(b) {perm = [0, 2, 1]}"), HasSubstr("y = matmul(a, ")));
  EXPECT_THAT(einsum("xij, xkj -> ki"),
              AllOf(HasSubstr("{shape = [3, 8]}"), HasSubstr("{shape = [8, 5]}"),
                    HasSubstr("{perm = [1, 0]}")));
  EXPECT_THAT(einsum("bij,bkl->bi"), HasSubstr("y = einsum(a, b)"));
  EXPECT_THAT(einsum("bij,bik->bk"), HasSubstr("the sizes 3 and 5 of subscript i"));
}

TEST(ImportBatchNorm, ForInferenceAndForTraining) {
  const std::string head =
      "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y) ";
  EXPECT_THAT(Made(head + "{ y = BatchNormalization<epsilon = 0.5>(x, s, b, m, v) }", 9),
              HasSubstr("y = batch_norm(x, s, b, m, v) {epsilon = 0.5}"));
  EXPECT_THAT(Made(head + "{ y = BatchNormalization<spatial = 0>(x, s, b, m, v) }", 7),
              HasSubstr("unsupported: BatchNormalization (spatial = 0)"));
  EXPECT_THAT(Made(head + "{ y, n, w = BatchNormalization<training_mode = 1>(x, s, b, m, v) }", 15),
              HasSubstr("batch_norm_training(x, s, b)"));
}

}  // namespace
}  // namespace lemma
