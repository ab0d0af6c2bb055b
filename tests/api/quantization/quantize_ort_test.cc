// Quantized models in ONNX Runtime: what it computes from the written files is what Lemma does.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "api/models/random_values.h"
#include "api/quantize.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "tests/api/quantization/random_net.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/ort/engine.h"

namespace lemma::api {
namespace {

struct FormCase {
  const char* name;
  QuantizeOptions options;
};

std::vector<FormCase> Forms() {
  std::vector<FormCase> forms(12);
  for (FormCase& form : forms) {
    form.options.runs = 0;
    form.options.alone = false;
    form.options.calibration = "synthetic:4";
    // Without VNNI, ONNX Runtime adds pairs of products in 16 bits, which saturate.
    form.options.bits = 7;
  }
  forms[0].name = "static";
  forms[1].name = "static, one scale for a weight";
  forms[1].options.per_channel = false;
  forms[2].name = "static, i8 activations";
  forms[2].options.symmetric = true;
  forms[3].name = "static, percentile";
  forms[3].options.ranges = "percentile";
  forms[3].options.percentile = 98;
  forms[4].name = "static, the sum in f32";
  forms[4].options.keep = {"Add"};
  forms[5].name = "dynamic";
  forms[5].options.form = "dynamic";
  forms[6].name = "weights";
  forms[6].options.form = "weights";
  forms[7].name = "weights of 4 bits";
  forms[7].options.form = "weights";
  forms[7].options.bits = 4;
  forms[7].options.block = 32;
  forms[8].name = "weights of 8 bits in blocks";
  forms[8].options.form = "weights";
  forms[8].options.bits = 8;
  forms[8].options.block = 16;
  for (int i : {9, 10, 11}) {
    forms[i].name = i == 9 ? "bf16" : i == 10 ? "f16" : "tf32";
    forms[i].options.form = forms[i].name;
    forms[i].options.bits = 8;
  }
  return forms;
}

// The largest step of a value that reaches the output: a rounding that goes to the other side moves
// the output by no more than such a step times the last layer's weights.
double AllowedOf(const QuantizeResult& result, const Tensor& expected) {
  double largest = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected.AtDouble(i)));
  }
  double step = 1e-5 * largest;
  for (const ValueRange& range : result.ranges) step = std::max(step, range.scale);
  return step;
}

TEST(QuantizeOrtTest, FilesMeanTheSameInOnnxRuntime) {
  for (const char* level : {"disabled", "all"}) {
    auto ort = OrtEngine::Start({"--optimize", level});
    if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
    ASSERT_TRUE(ort.ok()) << ort.status();
    for (const FormCase& form : Forms()) {
      int64_t elements = 0, equal = 0;
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(absl::StrCat(form.name, ", level ", level, ", seed ", seed));
        const std::string path = NewFolder() + "/q.onnx";
        auto result =
            Quantize(WriteTemp("m.onnx", OnnxModel(RandomConvNet(seed)).SerializeAsString()), path,
                     form.options);
        ASSERT_TRUE(result.ok()) << result.status();
        auto model = ImportOnnx(path);
        ASSERT_TRUE(model.ok()) << model.status();
        auto cpu = MakeCpuBackend()->Compile(model->graph, {});
        ASSERT_TRUE(cpu.ok()) << cpu.status();
        for (uint64_t input = 1; input <= 4; ++input) {
          auto x = RandomInputs(model->graph, 1000 + input, 2);
          ASSERT_TRUE(x.ok());
          auto ours = (*cpu)->Run(*x);
          auto theirs = (*ort)->Run(ReadAll(path), *x);
          ASSERT_TRUE(ours.ok() && theirs.ok()) << ours.status() << theirs.status();
          const double allowed = AllowedOf(*result, (*ours)[0]);
          for (int64_t i = 0; i < (*ours)[0].size(); ++i) {
            const double a = (*ours)[0].AtDouble(i), b = (*theirs)[0].AtDouble(i);
            EXPECT_NEAR(a, b, allowed);
            ++elements;
            equal += std::abs(a - b) <= 1e-4 * std::max(1.0, std::abs(a)) ? 1 : 0;
          }
        }
      }
      EXPECT_GE(equal * 10, elements * 9) << form.name << ", level " << level << ": " << equal
                                          << " of " << elements << " elements are equal";
    }
  }
}

}  // namespace
}  // namespace lemma::api
