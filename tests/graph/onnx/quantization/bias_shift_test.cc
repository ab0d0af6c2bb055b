// Shifts of biases: each channel of a product's result moves by its number.
#include <onnx/onnx_pb.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/onnx/quantization/quantizable_model.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

QuantizableModel Read(const std::string& type, const std::string& result, const std::string& body) {
  const std::string text = absl::StrCat("g (", type, " x) => (", result, " y) {\n", R"(
      w = Constant <value = float[2,2] {127.0, -64.0, 3.0, 127.0}> ()
      k = Constant <value = float[2,1,1,1] {127.0, -127.0}> ()
      b = Constant <value = float[2] {1.0, -2.0}> ()
      r = Constant <value = float[1,2] {1.0, -2.0}> ()
      o = Constant <value = float[2] {1.0, 1.0}> ()
      z = Constant <value = float[2] {0.0, 0.0}> ()
  )",
                                        body, "}");
  auto read = QuantizableModel::Read(WriteTemp("model.onnx", OnnxModel(text).SerializeAsString()));
  EXPECT_TRUE(read.ok()) << read.status();
  return *std::move(read);
}

std::vector<double> OutputOf(const QuantizableModel& model, const QuantizationPlan& plan,
                             const Tensor& x) {
  auto quantized = model.Quantize(plan);
  EXPECT_TRUE(quantized.ok()) << quantized.status();
  auto imported = quantized->Import({}, {});
  EXPECT_TRUE(imported.ok()) << imported.status();
  return (*(*MakeReferenceBackend()->Compile(imported->graph, {}))->Run({x}))[0].ToDoubles();
}

TEST(BiasShiftTest, MovesEachChannel) {
  const std::pair<const char*, const char*> kMatrices[] = {
      {"y = Gemm (x, w, b)", "y"},
      {"y = Gemm <transB = 1> (x, w)", "y"},
      {"y = MatMul (x, w)", "y"},
      {"h = MatMul (x, w)\n y = Relu (h)", "h"},
      {"h = MatMul (x, w)\n y = Add (h, r)", "h"},
      {"h = MatMul (x, w)\n y = Add (b, h)", "h"}};
  const std::pair<const char*, const char*> kConvs[] = {
      {"y = Conv (x, k)", "y"},
      {"y = Conv (x, k, b)", "y"},
      {"h = Conv (x, k, b)\n y = BatchNormalization <epsilon = 0.0> (h, o, z, z, o)", "y"}};
  QuantizationPlan plan;
  plan.chosen = {true};
  for (const bool is_conv : {false, true}) {
    for (int i = 0; i < (is_conv ? 3 : 6); ++i) {
      const auto& [body, value] = is_conv ? kConvs[i] : kMatrices[i];
      SCOPED_TRACE(body);
      const QuantizableModel model = is_conv ? Read("float[1,1,1,2]", "float[1,2,1,2]", body)
                                             : Read("float[2,2]", "float[2,2]", body);
      EXPECT_EQ(model.BiasedValue(0), value);
      for (const char* name : {"x", "y", "h"}) plan.values[name] = {DType::kU8, 1, 128};
      const Tensor x = is_conv ? *Tensor::FromDoubles({DType::kF32, {1, 1, 1, 2}}, {0, 0})
                               : *Tensor::FromDoubles({DType::kF32, {2, 2}}, {1, 0, 1, 0});
      plan.bias_shifts.clear();
      const std::vector<double> before = OutputOf(model, plan, x);
      plan.bias_shifts[model.operators()[0].result] = {3, 90};
      const std::vector<double> after = OutputOf(model, plan, x);
      ASSERT_EQ(before.size(), 4u);
      for (size_t e = 0; e < 4; ++e) {
        const bool second = is_conv ? e >= 2 : e % 2 == 1;
        // A relu hides the part of the shift below 0: the second channel was at -64.
        const bool is_hidden = second && absl::StrContains(body, "Relu");
        EXPECT_EQ(after[e] - before[e], is_hidden ? 90 - 64 : second ? 90 : 3) << e;
      }
    }
  }
}

TEST(BiasShiftTest, ProductsWithoutABiasHaveNone) {
  for (const char* body :
       {"y = Gemm <beta = 0.5> (x, w)", "y = MatMul (w, x)", "y = MatMul (x, x)"}) {
    const QuantizableModel model = Read("float[2,2]", "float[2,2]", body);
    ASSERT_EQ(model.operators().size(), 1u);
    EXPECT_EQ(model.BiasedValue(0), "") << body;
  }
}

}  // namespace
}  // namespace lemma
