// Equalization and smoothing: which values are scaled, and that the model computes the same bits.
#include <onnx/onnx_pb.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/onnx/quantization/quantizable_model.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

// A Constant node. The elements have magnitudes from 2^-8 to 2^8, so that channels that are mixed
// up show in the results.
std::string Constant(const std::string& name, const std::string& dims, int count) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::uniform_real_distribution<double> mantissa(-2, 2), exponent(-8, 8);
  std::string text = absl::StrCat(name, " = Constant <value = float[", dims, "] {");
  for (int i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "%s%.9f", i == 0 ? "" : ", ",
                          mantissa(random) * std::exp2(std::floor(exponent(random))));
  }
  return text + "}> ()\n";
}

QuantizableModel Read(const std::string& graph, int opset = 17) {
  auto read =
      QuantizableModel::Read(WriteTemp("model.onnx", OnnxModel(graph, opset).SerializeAsString()));
  EXPECT_TRUE(read.ok()) << read.status();
  return *std::move(read);
}

std::vector<bool> All(const QuantizableModel& model) {
  return std::vector<bool>(model.operators().size(), true);
}

// The outputs of both models on the same random inputs have the same bits, in each back end.
void ExpectSameBits(const QuantizableModel& a, const QuantizableModel& b) {
  auto first = a.Import({}, {}), second = b.Import({}, {});
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<Tensor> inputs;
  for (const Value& input : first->graph.inputs()) {
    std::vector<double> numbers(static_cast<size_t>(input.type().num_elements()));
    for (double& x : numbers) x = normal(random);
    inputs.push_back(*Tensor::FromDoubles(input.type(), numbers));
  }
  for (const bool cpu : {false, true}) {
    const auto run = [&](const Graph& graph) {
      return *(*(cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(graph, {}))->Run(inputs);
    };
    const std::vector<Tensor> before = run(first->graph), after = run(second->graph);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(before[i].IsFinite());
      EXPECT_TRUE(before[i].SameBytes(after[i])) << (cpu ? "cpu" : "reference") << ", output " << i;
    }
  }
}

// Between `w` (6 channels out of 3) and `v`.
std::string ConvNet(const std::string& body, const std::string& result = "float[2,4,6,6] y") {
  return absl::StrCat(
      "g (float[2,3,6,6] x) => (", result, ") {\n", Constant("w", "6,3,1,1", 18),
      Constant("b", "6", 6), Constant("v", "4,6,1,1", 24), Constant("v2", "4,6,1,1", 24),
      Constant("u", "4,3,3,3", 108), Constant("d", "12,1,3,3", 108), Constant("e", "4,12,1,1", 48),
      Constant("p", "6,4", 24), Constant("q", "4,216", 864), Constant("g", "6", 6),
      Constant("s", "6", 6), Constant("m", "6", 6),
      "n = Constant <value = float[6] {1.0, 0.5, 2.0, 0.01, 9.0, 0.3}> ()\n",
      "flat = Constant <value = int64[2] {0, -1}> ()\n",
      "row = Constant <value = int64[2] {-1, 6}> ()\n",
      "two = Constant <value = int64[2] {2, -1}> ()\n", "low = Constant <value = float {0.0}> ()\n",
      "six = Constant <value = float {6.0}> ()\n", body, "}");
}

struct Case {
  const char* body;
  int values;  // that are scaled
  const char* result = "float[2,4,6,6] y";
};

TEST(EqualizeTest, KeepsEveryBit) {
  const Case kCases[] = {
      {"c = Conv (x, w, b)\n r = Relu (c)\n y = Conv (r, v)", 1},
      {"c = Conv (x, w)\n r = LeakyRelu <alpha = 0.25> (c)\n i = Identity (r)\n y = Conv (i, v)",
       1},
      {"c = Conv (x, w, b)\n h = BatchNormalization (c, g, s, m, n)\n r = Relu (h)\n"
       "y = Conv (r, v)",
       1},
      {"c = Conv (x, w, b)\n r = MaxPool <kernel_shape = [2,2]> (c)\n"
       "y = Conv <group = 2, pads = [1,1,1,1]> (r, u)",
       1, "float[2,4,5,5] y"},
      // A depthwise convolution is the second of a pair, and the first of the next pair.
      {"c = Conv (x, w, b)\n r = Relu (c)\n t = Conv <group = 6, pads = [1,1,1,1]> (r, d)\n"
       "z = Relu (t)\n y = Conv (z, e)",
       2},
      {"c = Conv (x, w, b)\n r = Relu (c)\n a = GlobalAveragePool (r)\n f = Flatten (a)\n"
       "y = Gemm (f, p)",
       1, "float[2,4] y"},
      {"c = Conv (x, w, b)\n a = GlobalAveragePool (c)\n f = Reshape (a, row)\n y = MatMul (f, p)",
       1, "float[2,4] y"},
      {"c = Conv (x, w, b)\n r = Relu (c)\n f = Flatten (r)\n y = Gemm <transB = 1> (f, q)", 1,
       "float[2,4] y"},
      {"c = Conv (x, w, b)\n f = Reshape (c, flat)\n y = Gemm <transB = 1> (f, q)", 1,
       "float[2,4] y"},
      {"c = Conv (x, w, b)\n a = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1]> (c)\n"
       "y = Conv (a, v)",
       1},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.body);
    const QuantizableModel model = Read(ConvNet(one.body, one.result));
    auto equalized = model.Equalized(All(model));
    ASSERT_TRUE(equalized.ok()) << equalized.status();
    EXPECT_EQ(equalized->values, one.values);
    EXPECT_GE(equalized->channels, 3 * one.values);
    ExpectSameBits(model, equalized->model);
    // Once more, nothing is left to do.
    auto again = equalized->model.Equalized(All(model));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->channels, 0);
  }
}

TEST(EqualizeTest, LeavesOtherPairsAlone) {
  const Case kCases[] = {
      {"c = Conv (x, w, b)\n r = Clip (c, low, six)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = Sigmoid (c)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = HardSwish (c)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = LeakyRelu <alpha = -0.5> (c)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = PRelu (c, low)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = Softmax <axis = 1> (c)\n y = Conv (r, v)", 0},
      {"c = Conv (x, w, b)\n r = Add (c, six)\n y = Conv (r, v)", 0},
      // Two readers, one of them no product.
      {"c = Conv (x, w, b)\n k = Conv (c, v)\n z = ReduceSum <keepdims = 0> (c)\n y = Add (k, z)",
       0},
      {"c = Conv (x, w, b)\n k = Conv (c, v)\n z = Conv (c, v2)\n y = Add (k, z)", 0},
      {"c = Conv (x, w, b)\n y = Conv (c, v)", 0, "float[2,4,6,6] y, float[2,6,6,6] c"},
      {"c = Conv (x, w, b)\n r = Relu (c)\n y = Conv (r, v)", 0,
       "float[2,4,6,6] y, float[2,6,6,6] r"},
      // The second weight belongs to two products, or the first.
      {"c = Conv (x, w, b)\n k = Conv (c, v)\n a = Abs (c)\n z = Conv (a, v)\n y = Add (k, z)", 0},
      {"c = Conv (x, w, b)\n a = Abs (x)\n k = Conv (c, v)\n z = Conv (a, w)\n o = Conv (z, v2)\n"
       "y = Add (k, o)",
       0},
      // A Reshape that mixes the batch with the channels, or does not say so.
      {"c = Conv (x, w, b)\n f = Reshape (c, two)\n y = Gemm <transB = 1> (f, q)", 0,
       "float[2,4] y"},
      {"c = Conv (x, w, b)\n f = Flatten <axis = 2> (c)\n h = Reshape (f, two)\n"
       "y = Gemm <transB = 1> (h, q)",
       0, "float[2,4] y"},
      {"c = Conv (x, w, b)\n r, i = MaxPool <kernel_shape = [1,1]> (c)\n y = Conv (r, v)", 0,
       "float[2,4,6,6] y, int64[2,6,6,6] i"},
      // Rows of six positions, not of six channels.
      {"c = Conv (x, w, b)\n f = Reshape (c, row)\n y = MatMul (f, p)", 0, "float[72,4] y"},
      {"c = Conv (x, w, b)\n a = GlobalAveragePool (c)\n"
       "h = MaxPool <kernel_shape = [2,2], pads = [1,1,1,1]> (a)\n f = Reshape (h, row)\n"
       "y = MatMul (f, p)",
       0, "float[8,4] y"},
      // The last axis of a convolution's result holds positions.
      {"c = Conv (x, w, b)\n y = MatMul (c, p)", 0, "float[2,6,6,4] y"},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.body);
    const QuantizableModel model = Read(ConvNet(one.body, one.result));
    auto equalized = model.Equalized(All(model));
    ASSERT_TRUE(equalized.ok()) << equalized.status();
    EXPECT_EQ(equalized->values, 0);
  }
}

TEST(EqualizeTest, LeavesKeptOperatorsAndSubgraphsAlone) {
  const QuantizableModel model =
      Read(ConvNet("c = Conv (x, w, b)\n r = Relu (c)\n y = Conv (r, v)"));
  for (const size_t kept : {0, 1}) {
    std::vector<bool> allowed = All(model);
    allowed[kept] = false;
    auto equalized = model.Equalized(allowed);
    ASSERT_TRUE(equalized.ok()) << equalized.status();
    EXPECT_EQ(equalized->values, 0);
  }
  const QuantizableModel with_branch = Read(R"(
    g (float[1,2] x, bool c) => (float[1,2] y, float[1,2] z) {
      v = Constant <value = float[2,2] {0.5, 64.0, -0.5, 1.0}> ()
      w = Constant <value = float[2,2] {0.5, 0.25, -0.5, 1.0}> ()
      h = MatMul (x, v)
      y = MatMul (h, w)
      z = If (c) <then_branch = t () => (float[1,2] a) { a = Abs (h) },
                  else_branch = e () => (float[1,2] a) { a = Neg (x) }>
    })");
  auto equalized = with_branch.Equalized(All(with_branch));
  ASSERT_TRUE(equalized.ok()) << equalized.status();
  EXPECT_EQ(equalized->values, 0);
}

// Channel 0 of the first weight is 2^40 times that of the second, channel 1 has a number that would
// be subnormal, and channel 2 has no number at all.
TEST(EqualizeTest, RefusesWhatWouldNotBeExact) {
  onnx::ModelProto proto = OnnxModel(R"(
    g (float[1,2] x) => (float[1,1] y) {
      v = Constant <value = float[2,3] {1.0, 1.0, 0.0, 1.0, 1.0, 0.0}> ()
      w = Constant <value = float[3,1] {1.0, 1.0, 1.0}> ()
      h = MatMul (x, v)
      y = MatMul (h, w)
    })");
  auto* v = proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  ASSERT_EQ(v->float_data_size(), 6);
  v->set_float_data(0, 0x1p40F);
  v->set_float_data(1, 0x1p10F);
  v->set_float_data(4, 0x1p-123F);
  auto model = QuantizableModel::Read(WriteTemp("model.onnx", proto.SerializeAsString()));
  ASSERT_TRUE(model.ok()) << model.status();
  auto equalized = model->Equalized(All(*model));
  ASSERT_TRUE(equalized.ok()) << equalized.status();
  EXPECT_EQ(equalized->channels, 1);
  ExpectSameBits(*model, equalized->model);
  QuantizationPlan plan;
  plan.form = QuantizationForm::kWeights;
  plan.chosen = All(*model);
  auto weights = equalized->model.WeightsOf(0, plan);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->weight, (std::vector<double>{0x1p20, 0x1p10, 0, 0x1p-20, 0x1p-123, 0}));
}

// A channel that cannot be scaled is as large as the largest: smaller others would gain nothing.
TEST(EqualizeTest, LeavesAPairThatWouldGainNothing) {
  onnx::ModelProto proto = OnnxModel(R"(
    g (float[1,2] x) => (float[1,1] y) {
      v = Constant <value = float[2,2] {1024.0, 1024.0, 1.0, 1.0}> ()
      w = Constant <value = float[2,1] {1.0, 1.0}> ()
      h = MatMul (x, v)
      y = MatMul (h, w)
    })");
  auto* v = proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  v->set_float_data(3, 0x1p-123F);
  auto model = QuantizableModel::Read(WriteTemp("model.onnx", proto.SerializeAsString()));
  ASSERT_TRUE(model.ok()) << model.status();
  auto equalized = model->Equalized(All(*model));
  ASSERT_TRUE(equalized.ok()) << equalized.status();
  EXPECT_EQ(equalized->values, 0);
}

// The scale would be 2^40, and 2^-120 / 2^40 is 0 in f32.
TEST(EqualizeTest, RefusesWhatWouldBecomeZero) {
  onnx::ModelProto proto = OnnxModel(R"(
    g (float[1,2] x) => (float[1,1] y) {
      v = Constant <value = float[2,1] {1.0, 1.0}> ()
      w = Constant <value = float[1,1] {1.0}> ()
      h = MatMul (x, v)
      y = MatMul (h, w)
    })");
  auto* v = proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  ASSERT_EQ(v->float_data_size(), 2);
  v->set_float_data(0, 0x1p80F);
  v->set_float_data(1, 0x1p-120F);
  auto model = QuantizableModel::Read(WriteTemp("model.onnx", proto.SerializeAsString()));
  ASSERT_TRUE(model.ok()) << model.status();
  auto equalized = model->Equalized(All(*model));
  ASSERT_TRUE(equalized.ok()) << equalized.status();
  EXPECT_EQ(equalized->channels, 0);
}

// The weight with the normalization is 1/16, so the scale is 1/4.
TEST(EqualizeTest, RangesIncludeTheNormalization) {
  const QuantizableModel model = Read(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) {
      w = Constant <value = float[1,1,1,1] {1.0}> ()
      v = Constant <value = float[1,1,1,1] {1.0}> ()
      g = Constant <value = float[1] {1.0}> ()
      s = Constant <value = float[1] {0.0}> ()
      n = Constant <value = float[1] {256.0}> ()
      c = Conv (x, w)
      h = BatchNormalization <epsilon = 0.0> (c, g, s, s, n)
      y = Conv (h, v)
    })");
  auto equalized = model.Equalized(All(model));
  ASSERT_TRUE(equalized.ok()) << equalized.status();
  QuantizationPlan plan;
  plan.form = QuantizationForm::kWeights;
  plan.chosen = All(model);
  for (const int op : {0, 1}) {
    auto weights = equalized->model.WeightsOf(op, plan);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->weight, std::vector<double>{0.25}) << op;
  }
}

// A MatMul over 6 channels, whose left operand `body` makes out of x.
std::string Net(const std::string& body, const std::string& outputs = "") {
  return absl::StrCat("g (float[2,5,6] x) => (float[2,5,4] y", outputs, ") {\n",
                      Constant("v", "6,4", 24), Constant("t", "6,4", 24), Constant("w", "6,6", 36),
                      Constant("g", "6", 6), Constant("b", "1,6", 6),
                      "one = Constant <value = float[1] {2.0}> ()\n", body, "}");
}

std::map<std::string, std::vector<double>> RandomMaxima(const QuantizableModel& model) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-8, 8);
  std::map<std::string, std::vector<double>> maxima;
  for (const auto& [value, channels] : model.SmoothableValues(All(model))) {
    for (int64_t c = 0; c < channels; ++c) maxima[value].push_back(std::exp2(exponent(random)));
  }
  return maxima;
}

TEST(SmoothTest, KeepsEveryBit) {
  const std::string shift =
      "f = Constant <value = float[6] {0.5, 0.25, -1.0, 2.0, 3.0, -0.125}> ()\n";
  for (const std::string& body :
       {shift + "a = LayerNormalization (x, g, f)\n y = MatMul (a, v)",
        std::string("a = LayerNormalization (x, g)\n y = MatMul (a, v)"),
        std::string("n = Mul (g, x)\n a = Add (n, b)\n y = MatMul (a, v)"),
        std::string("a = Mul (x, b)\n y = MatMul (a, v)"),
        std::string("a = Mul (x, b)\n h = MatMul (a, v)\n k = MatMul (a, t)\n y = Add (h, k)"),
        std::string("h = MatMul (x, w)\n a = Add (b, h)\n y = MatMul (a, v)"),
        std::string("h = MatMul (x, w)\n a = Relu (h)\n y = MatMul (a, v)")}) {
    SCOPED_TRACE(body);
    const QuantizableModel model = Read(Net(body));
    auto smoothed = model.Smoothed(All(model), 0.5, RandomMaxima(model));
    ASSERT_TRUE(smoothed.ok()) << smoothed.status();
    EXPECT_EQ(smoothed->values, 1);
    EXPECT_GE(smoothed->channels, 3);
    ExpectSameBits(model, smoothed->model);
  }
}

TEST(SmoothTest, LeavesOtherValuesAlone) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a = Mul (x, b)\n k = MatMul (a, v)\n z = Abs (a)\n y = MatMul (z, v)", ""},
      {"a = Mul (x, b)\n k = MatMul (a, v)\n z = ReduceSum (a)\n y = Add (k, z)", ""},
      {"a = Mul (x, b)\n y = MatMul (a, v)", ", float[2,5,6] a"},
      {"a = Mul (x, one)\n y = MatMul (a, v)", ""},
      {"a = Mul (x, x)\n y = MatMul (a, v)", ""},
      {"a = Add (x, b)\n y = MatMul (a, v)", ""},
      {"n = Mul (x, g)\n a = Add (n, x)\n y = MatMul (a, v)", ""},
      {"n = Mul (x, g)\n a = Add (n, one)\n y = MatMul (a, v)", ""},
      {"n = Mul (x, g)\n z = Abs (n)\n a = Add (n, b)\n k = MatMul (a, v)\n h = ReduceSum (z)\n"
       "y = Add (k, h)",
       ""},
      {"n = Mul (x, g)\n a = Gelu (n)\n y = MatMul (a, v)", ""},
      {"n = Mul (x, g)\n a = Clip (n, one)\n y = MatMul (a, v)", ""},
      {"a = LayerNormalization (x, g)\n k = MatMul (a, v)\n z = MatMul (x, v)\n y = Add (k, z)",
       ""},
      {"y = MatMul (x, v)", ""},
  };
  for (const auto& [body, outputs] : kCases) {
    SCOPED_TRACE(body);
    const QuantizableModel model = Read(Net(body, outputs));
    EXPECT_TRUE(model.SmoothableValues(All(model)).empty());
    std::vector<bool> none(model.operators().size(), false);
    EXPECT_TRUE(model.SmoothableValues(none).empty());
  }
}

// alpha = 1 gives the whole range to the weight, alpha = 0 gives that of the weight to the value.
TEST(SmoothTest, AlphaSaysHowMuchMoves) {
  const QuantizableModel model = Read(R"(
    g (float[1,2] x) => (float[1,1] y) {
      s = Constant <value = float[2] {16.0, 1.0}> ()
      w = Constant <value = float[2,1] {0.25, 2.0}> ()
      a = Mul (x, s)
      y = MatMul (a, w)
    })");
  QuantizationPlan plan;
  plan.form = QuantizationForm::kWeights;
  plan.chosen = {true};
  const std::pair<double, std::vector<double>> kWeights[] = {
      {0, {1, 1}}, {0.5, {2, 2}}, {1, {4, 4}}};
  for (const auto& [alpha, expected] : kWeights) {
    auto smoothed = model.Smoothed({true}, alpha, {{"a", {16, 2}}});
    ASSERT_TRUE(smoothed.ok()) << smoothed.status();
    auto weights = smoothed->model.WeightsOf(0, plan);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->weight, expected) << alpha;
  }
}

}  // namespace
}  // namespace lemma
