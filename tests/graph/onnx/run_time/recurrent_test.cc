// Recurrent networks: sequences of several lengths, and what cannot be computed.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/graph/onnx/symbolic/all_sizes.h"

namespace lemma {
namespace {

using ::testing::IsEmpty;

// A short sequence gives what its own steps give, then zeros, and its last state stays.
TEST(RecurrentTest, SequencesEndAtTheirLengths) {
  for (const std::string direction : {"forward", "reverse"}) {
    SCOPED_TRACE(direction);
    const std::string gru = absl::StrCat("GRU<hidden_size = 3, direction = \"", direction, "\">");
    auto imported = ImportOnnxBytes(
        OnnxModel(
            absl::StrCat("g (float[3,2,2] x, float[1,9,2] w, float[1,9,3] r, float[1,18] b) => "
                         "(float[3,1,2,3] y, float[1,2,3] h, float[2,1,1,3] z, float[1,1,3] k) { "
                         "n = Constant<value = int32[2] {3, 2}>() y, h = ",
                         gru,
                         "(x, w, r, b, n) s = Constant<value_ints = [0, 1]>() "
                         "e = Constant<value_ints = [2, 2]>() c = Slice(x, s, e) z, k = ",
                         gru, "(c, w, r, b) }"))
            .SerializeAsString());
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
    const std::vector<Tensor> values = RunOnReference(imported->graph);
    ASSERT_EQ(values.size(), 4u);
    const Tensor &y = values[0], &h = values[1], &z = values[2], &k = values[3];
    for (int64_t i = 0; i < 3; ++i) {
      // y is [step, 1, sequence, i].
      for (int64_t step : {0, 1}) {
        EXPECT_NEAR(y.AtDouble((step * 2 + 1) * 3 + i), z.AtDouble(step * 3 + i), 1e-6);
      }
      EXPECT_EQ(y.AtDouble((2 * 2 + 1) * 3 + i), 0);
      EXPECT_NE(y.AtDouble((2 * 2 + 0) * 3 + i), 0);
      EXPECT_NEAR(h.AtDouble(3 + i), k.AtDouble(i), 1e-6);
    }
  }
}

// Importing it at run time does not help: the run says so instead of trying forever.
TEST(RecurrentTest, WhatIsUnknownAtRunTimeIsAnError) {
  auto imported = ImportOnnxBytes(
      OnnxModel(
          "g (float[2,1,2] x, float[1,12,2] w, float[1,12,3] r) => (float[2,1,1,3] y) { "
          "y = LSTM<hidden_size = 3, activation_alpha = [0.5, 0.6], activations = [\"Sigmoid\", "
          "\"LeakyRelu\", \"Tanh\"]>(x, w, r) }")
          .SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_EQ(imported->opaque.size(), 1u);
  auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<Tensor> inputs;
  for (const Value& input : imported->graph.inputs()) {
    inputs.push_back(*Tensor::Filled(input.type(), 0.5));
  }
  const absl::Status status = (*executable)->Run(inputs).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "2 values of activation_alpha")) << status;
}

struct Activation {
  std::string attributes;
  std::function<double(double)> f;
};

// The result of one step of an RNN without a state is f(x).
TEST(RecurrentTest, ActivationsAreThoseOfOnnx) {
  const std::vector<Activation> activations = {
      {"activations = [\"Softsign\"]", [](double x) { return x / (1 + std::abs(x)); }},
      {"activations = [\"Softplus\"]", [](double x) { return std::log(1 + std::exp(x)); }},
      {"activations = [\"Affine\"], activation_alpha = [2.0], activation_beta = [-0.5]",
       [](double x) { return 2 * x - 0.5; }},
      {"activations = [\"LeakyRelu\"]", [](double x) { return x >= 0 ? x : 0.01 * x; }},
      {"activations = [\"LeakyRelu\"], activation_alpha = [0.25]",
       [](double x) { return x >= 0 ? x : 0.25 * x; }},
      {"activations = [\"ThresholdedRelu\"]", [](double x) { return x >= 1 ? x : 0; }},
      {"activations = [\"ThresholdedRelu\"], activation_alpha = [0.5]",
       [](double x) { return x >= 0.5 ? x : 0; }},
      {"activations = [\"ScaledTanh\"], activation_alpha = [1.5], activation_beta = [0.75]",
       [](double x) { return 1.5 * std::tanh(0.75 * x); }},
      {"activations = [\"HardSigmoid\"]",
       [](double x) { return std::min(std::max(0.2 * x + 0.5, 0.0), 1.0); }},
      {"activations = [\"HardSigmoid\"], activation_alpha = [0.5], activation_beta = [0.25]",
       [](double x) { return std::min(std::max(0.5 * x + 0.25, 0.0), 1.0); }},
      {"activations = [\"Elu\"]", [](double x) { return x >= 0 ? x : std::exp(x) - 1; }},
      {"activations = [\"Elu\"], activation_alpha = [0.5]",
       [](double x) { return x >= 0 ? x : 0.5 * (std::exp(x) - 1); }},
  };
  const std::vector<double> x = {-3, -1, -0.5, 0, 0.5, 1, 1.5, 3};
  std::vector<double> unit(64, 0);
  for (size_t i = 0; i < x.size(); ++i) unit[i * 9] = 1;
  for (const Activation& activation : activations) {
    SCOPED_TRACE(activation.attributes);
    auto imported = ImportOnnxBytes(
        OnnxModel(absl::StrCat("g (float[1,1,8] x, float[1,8,8] w, float[1,8,8] r) => "
                               "(float[1,1,1,8] y) { y = RNN<hidden_size = 8, ",
                               activation.attributes, ">(x, w, r) }"))
            .SerializeAsString());
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
    auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto outputs = (*executable)
                       ->Run({*Tensor::FromDoubles({DType::kF32, {1, 1, 8}}, x),
                              *Tensor::FromDoubles({DType::kF32, {1, 8, 8}}, unit),
                              *Tensor::Filled({DType::kF32, {1, 8, 8}}, 0)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR((*outputs)[0].AtDouble(static_cast<int64_t>(i)), activation.f(x[i]), 1e-6)
          << x[i];
    }
  }
}

// With integers as weights, the results are those of an LSTM with the floats that they stand for,
// up to the steps by which inputs and states are rounded.
TEST(RecurrentTest, QuantizedWeights) {
  auto results = [](const std::string& text, bool is_quantized, std::vector<Tensor> inputs) {
    onnx::ModelProto model = OnnxModel(text);
    auto* opset = model.add_opset_import();
    opset->set_domain("com.microsoft");
    opset->set_version(1);
    if (is_quantized) model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
    auto imported = ImportOnnxBytes(model.SerializeAsString());
    EXPECT_TRUE(imported.ok()) << imported.status();
    EXPECT_THAT(imported->opaque, IsEmpty());
    auto outputs = (*MakeReferenceBackend()->Compile(imported->graph, {}))->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return (*outputs)[0].ToDoubles();
  };
  constexpr int64_t kIn = 3, kHidden = 2, kGates = 4 * kHidden;
  constexpr double kScaleW = 0.01, kScaleR = 0.02;
  constexpr int64_t kZeroW = 120, kZeroR = 130;
  std::vector<double> x(4 * kIn), w(kIn * kGates), r(kHidden * kGates);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1 + static_cast<double>(i));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>(i * 37 % 256);
  for (size_t i = 0; i < r.size(); ++i) r[i] = static_cast<double>(i * 53 % 256);
  // As the LSTM of floats has them: [gates, in].
  auto turned = [](const std::vector<double>& m, int64_t rows, double scale, int64_t zero) {
    std::vector<double> result(m.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t g = 0; g < kGates; ++g) {
        result[g * rows + i] = (m[i * kGates + g] - static_cast<double>(zero)) * scale;
      }
    }
    return result;
  };
  const auto tensor = [](DType dtype, Shape shape, const std::vector<double>& values) {
    return *Tensor::FromDoubles({dtype, std::move(shape)}, values);
  };
  const Tensor inputs = tensor(DType::kF32, {4, 1, kIn}, x);
  const std::vector<double> expected = results(
      "g (float[4,1,3] x, float[1,8,3] w, float[1,8,2] r) => (float[4,1,1,2] y) { "
      "y = LSTM<hidden_size = 2>(x, w, r) }",
      false,
      {inputs, tensor(DType::kF32, {1, kGates, kIn}, turned(w, kIn, kScaleW, kZeroW)),
       tensor(DType::kF32, {1, kGates, kHidden}, turned(r, kHidden, kScaleR, kZeroR))});
  const std::vector<double> computed = results(
      "g (float[4,1,3] x, uint8[1,3,8] w, uint8[1,2,8] r, float[1] s, uint8[1] z, float[1] t, "
      "uint8[1] u) => (float[4,1,1,2] y) { "
      "y = DynamicQuantizeLSTM<hidden_size = 2>(x, w, r, , , , , , s, z, t, u) }",
      true,
      {inputs, tensor(DType::kU8, {1, kIn, kGates}, w), tensor(DType::kU8, {1, kHidden, kGates}, r),
       tensor(DType::kF32, {1}, {kScaleW}), tensor(DType::kU8, {1}, {kZeroW}),
       tensor(DType::kF32, {1}, {kScaleR}), tensor(DType::kU8, {1}, {kZeroR})});
  ASSERT_EQ(computed.size(), expected.size());
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(computed[i], expected[i], 0.01);
    largest = std::max(largest, std::abs(expected[i]));
  }
  EXPECT_GT(largest, 0.1);
}

// The parameters belong to the activations that have some, in order, one direction after the other.
TEST(RecurrentTest, ParametersBelongToTheActivationsThatHaveThem) {
  auto imported = ImportOnnxBytes(
      OnnxModel("g (float[1,1,1] x, float[2,4,1] w, float[2,4,1] r) => (float[1,2,1,1] y) { "
                "y = LSTM<hidden_size = 1, direction = \"bidirectional\", "
                "activations = [\"HardSigmoid\", \"Tanh\", \"ScaledTanh\", "
                "\"Sigmoid\", \"LeakyRelu\", \"Affine\"], "
                "activation_alpha = [0.25, 1.5, 0.125, 3.0], "
                "activation_beta = [0.375, 0.5, -1.0]>(x, w, r) }")
          .SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_TRUE(imported->opaque.empty()) << imported->opaque[0];
  auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::vector<double> w = {0.5, -0.25, 1, -0.75};  // of i, o, f, c
  std::vector<double> both = w;
  both.insert(both.end(), w.begin(), w.end());
  auto outputs = (*executable)
                     ->Run({*Tensor::FromDoubles({DType::kF32, {1, 1, 1}}, {2}),
                            *Tensor::FromDoubles({DType::kF32, {2, 4, 1}}, both),
                            *Tensor::Filled({DType::kF32, {2, 4, 1}}, 0)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const auto hard = [](double x) { return std::min(std::max(0.25 * x + 0.375, 0.0), 1.0); };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double first = hard(-0.5) * 1.5 * std::tanh(0.5 * (hard(1) * std::tanh(-1.5)));
  const double second = sigmoid(-0.5) * (3 * (sigmoid(1) * 0.125 * -1.5) - 1);
  EXPECT_NEAR((*outputs)[0].AtDouble(0), first, 1e-6);
  EXPECT_NEAR((*outputs)[0].AtDouble(1), second, 1e-6);
}

}  // namespace
}  // namespace lemma
