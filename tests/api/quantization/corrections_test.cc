// Equalization, smoothing and the correction of biases: errors with and without them.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/quantize.h"
#include "gmock/gmock.h"
#include "graph/onnx/import.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "tests/api/quantization/npz_file.h"
#include "tests/api/quantization/random_net.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma::api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const std::string& graph) {
  return WriteTemp("model.onnx", OnnxModel(graph).SerializeAsString());
}

// `count` samples of the input x, whose elements are normally distributed around `mean`.
std::string Samples(Shape shape, int count, double mean = 0) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(mean, 1);
  shape.insert(shape.begin(), count);
  std::vector<double> numbers(static_cast<size_t>(NumElements(shape)));
  for (double& x : numbers) x = normal(random);
  return WriteTemp("s.npz", NpzFile({{"x", *Tensor::FromDoubles({DType::kF32, shape}, numbers)}}));
}

QuantizeOptions With(const std::string& samples) {
  QuantizeOptions options;
  options.runs = 0;
  options.alone = false;
  options.calibration = samples;
  return options;
}

QuantizeResult Quantized(const std::string& model, const QuantizeOptions& options,
                         std::string* output = nullptr) {
  const std::string path = NewFolder() + "/q.onnx";
  if (output != nullptr) *output = path;
  auto result = Quantize(model, path, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : QuantizeResult();
}

// A constant whose element i is normally distributed times scale(i).
template <class Scale>
std::string Scaled(const std::string& name, const std::string& dims, int count,
                   const Scale& scale) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::normal_distribution<double> normal;
  std::string text = absl::StrCat(name, " = Constant <value = float[", dims, "] {");
  for (int i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "%s%.9f", i == 0 ? "" : ", ", normal(random) * scale(i));
  }
  return text + "}> ()\n";
}

// The channels between the two convolutions have ranges from 1 to 1000, which cancel.
TEST(EqualizeTest, HelpsScalesPerTensor) {
  const auto factor = [](int channel) { return std::pow(1000, channel / 7.0); };
  const std::string model =
      Written(absl::StrCat("g (float[1,3,5,5] x) => (float[1,4,5,5] y) {\n",
                           Scaled("w", "8,3,1,1", 24, [&](int i) { return factor(i / 3); }),
                           Scaled("b", "8", 8, [&](int i) { return factor(i); }),
                           Scaled("v", "4,8,1,1", 32, [&](int i) { return 1 / factor(i % 8); }),
                           "c = Conv (x, w, b)\n r = Relu (c)\n y = Conv (r, v)\n}"));
  QuantizeOptions options = With(Samples({1, 3, 5, 5}, 10));
  options.per_channel = false;
  const QuantizeResult before = Quantized(model, options);
  options.equalize = true;
  const QuantizeResult after = Quantized(model, options);
  EXPECT_GT(before.worst, 0.2);
  EXPECT_LT(after.worst, 0.03);
  EXPECT_THAT(after.notes, Contains(HasSubstr("channels of 1 value scaled")));
  EXPECT_THAT(after.notes, Contains(HasSubstr("the same bits as the original on all 10 samples")));
  options.per_channel = true;
  EXPECT_LT(Quantized(model, options).worst, 0.03);
  // With an operator that stays as it is, the pair does too.
  options.keep = {"Relu"};
  options.per_channel = false;
  EXPECT_LT(Quantized(model, options).worst, 0.03);
  options.keep = {"y"};
  EXPECT_THAT(Quantized(model, options).notes, ElementsAre("equalize: nothing to scale"));
}

// One channel of the activation is 100 times as large as the others.
TEST(SmoothTest, HelpsWithOutliers) {
  constexpr int kChannels = 256;
  const std::string model = Written(absl::StrCat(
      "g (float[1,8,256] x) => (float[1,8,16] y) {\n",
      Scaled("g", "256", kChannels, [](int i) { return i == 17 ? 100 : 1; }),
      Scaled("b", "256", kChannels, [](int) { return 0.1; }),
      Scaled("w", "256,16", kChannels * 16, [](int i) { return i / 16 == 17 ? 0.05 : 1; }),
      "a = LayerNormalization (x, g, b)\n y = MatMul (a, w)\n}"));
  for (const char* form : {"static", "dynamic"}) {
    QuantizeOptions options = With(Samples({1, 8, 256}, 10));
    options.form = form;
    const QuantizeResult before = Quantized(model, options);
    options.smooth = 0.5;
    const QuantizeResult after = Quantized(model, options);
    EXPECT_LT(after.worst, before.worst / 3) << form << before.worst;
    EXPECT_GT(after.worst, 0);
    EXPECT_THAT(after.notes, Contains(HasSubstr("the same bits as the original")));
    EXPECT_THAT(after.notes, Contains(HasSubstr("channels of 1 value scaled")));
  }
}

// A row of the weight is 0: its channel must not keep its size while all others become smaller.
TEST(SmoothTest, AChannelWithoutAPartnerDoesNoHarm) {
  const std::string model =
      Written(absl::StrCat("g (float[1,8,32] x) => (float[1,8,16] y) {\n",
                           Scaled("g", "32", 32, [](int) { return 100; }),
                           Scaled("w", "32,16", 32 * 16, [](int i) { return i / 16 == 5 ? 0 : 1; }),
                           "a = LayerNormalization (x, g)\n y = MatMul (a, w)\n}"));
  QuantizeOptions options = With(Samples({1, 8, 32}, 10));
  const QuantizeResult before = Quantized(model, options);
  options.smooth = 1;
  const QuantizeResult after = Quantized(model, options);
  EXPECT_LT(after.worst, 1.5 * before.worst);
  EXPECT_THAT(after.notes, Contains(HasSubstr("smooth: 32 channels of 1 value scaled")));
}

// The sum over the outputs' elements of |mean of q - f|, over the samples for calibration.
double MeanError(const std::string& model, const std::string& quantized, const Shape& shape,
                 int count) {
  std::mt19937_64 random(11);  // as in Samples
  std::normal_distribution<double> normal(1, 1);
  std::vector<double> sums;
  std::unique_ptr<Executable> both[2];
  for (const int i : {0, 1}) {
    auto imported = ImportOnnx(i == 0 ? model : quantized);
    EXPECT_TRUE(imported.ok()) << imported.status();
    both[i] = *MakeCpuBackend()->Compile(imported->graph, {});
  }
  for (int s = 0; s < count; ++s) {
    std::vector<double> numbers(static_cast<size_t>(NumElements(shape)));
    for (double& x : numbers) x = normal(random);
    const Tensor x = *Tensor::FromDoubles({DType::kF32, shape}, numbers);
    const std::vector<Tensor> f = *both[0]->Run({x}), q = *both[1]->Run({x});
    sums.resize(static_cast<size_t>(f[0].size()));
    for (int64_t i = 0; i < f[0].size(); ++i) {
      sums[static_cast<size_t>(i)] += (q[0].AtDouble(i) - f[0].AtDouble(i)) / count;
    }
  }
  double sum = 0;
  for (const double mean : sums) sum += std::abs(mean);
  return sum;
}

TEST(CorrectBiasTest, ReducesTheMeanErrorAndNeverTheRest) {
  const Shape shape = {1, 3, 6, 6};
  const std::string samples = Samples(shape, 20, 1);
  double before = 0, after = 0;
  int used = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const std::string model = Written(RandomConvNet(seed));
    QuantizeOptions options = With(samples);
    options.per_channel = false;
    std::string plain, corrected;
    const QuantizeResult without = Quantized(model, options, &plain);
    options.correct_bias = true;
    const QuantizeResult with = Quantized(model, options, &corrected);
    EXPECT_LE(with.errors[0].relative, without.errors[0].relative) << seed;
    used += with.errors[0].relative < without.errors[0].relative ? 1 : 0;
    // The last fifth is held out.
    before += MeanError(model, plain, shape, 16);
    after += MeanError(model, corrected, shape, 16);
    EXPECT_EQ(with.held_out.size(), 1u);
  }
  EXPECT_GE(used, 4);
  EXPECT_LT(after, before / 3);
}

// Large positive numbers are clipped, so the mean of the product is too small. The output is about
// the negative numbers alone, which a correction would only make worse.
TEST(CorrectBiasTest, IsNotUsedIfItHarms) {
  const std::string model = Written(R"(
    g (float[8,1] x) => (float[8,1] y) {
      w = Constant <value = float[1,1] {1.0}> ()
      h = MatMul (x, w)
      n = Neg (h)
      y = Relu (n)
    })");
  std::vector<double> numbers(40);
  for (int i = 0; i < 40; ++i) numbers[i] = i % 8 == 0 ? 50 : -0.1 * (i % 7);
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {5, 8, 1}}, numbers);
  QuantizeOptions options = With(WriteTemp("s.npz", NpzFile({{"x", x}})));
  options.ranges = "percentile";
  options.percentile = 60;
  const QuantizeResult without = Quantized(model, options);
  options.correct_bias = true;
  const QuantizeResult with = Quantized(model, options);
  EXPECT_EQ(with.errors[0].relative, without.errors[0].relative);
  EXPECT_THAT(with.notes, Contains(HasSubstr("correct_bias: biases stay as they are")));
}

TEST(CorrectBiasTest, BoundsHoldForCorrectedProducts) {
  std::mt19937_64 random(3);
  for (const char* product : {"y = Gemm (x, w, b)", "y = Gemm (x, w)", "y = MatMul (x, w)",
                              "h = MatMul (x, w)\n y = Add (h, b)"}) {
    const std::string model = Written(absl::StrCat(
        "g (float[4,9] x) => (float[4,3] y) {\n", RandomConstant("w", "9,3", 27, &random),
        RandomConstant("b", "3", 3, &random), product, "}"));
    // Two samples for calibration: those of the bounds.
    QuantizeOptions options = With(Samples({4, 9}, 3, 2));
    options.per_channel = false;
    const QuantizeResult without = Quantized(model, options);
    options.correct_bias = true;
    const QuantizeResult with = Quantized(model, options);
    EXPECT_LT(with.errors[0].relative, without.errors[0].relative) << product;
    const OperatorErrors& errors = with.operators[0].errors;
    EXPECT_LE(with.errors[0].largest, *errors.for_inputs) << product;
    EXPECT_LE(*errors.for_inputs, *errors.bound * 1.0001) << product;
    EXPECT_GT(*errors.bound, *without.operators[0].errors.bound) << product;
  }
}

TEST(CorrectBiasTest, KeepsTheBudget) {
  const std::string model = Written(RandomConvNet(3));
  QuantizeOptions options = With(Samples({1, 3, 6, 6}, 10));
  const double error = Quantized(model, options).worst;
  options.correct_bias = true;
  for (const double share : {0.9, 0.97, 1.0}) {
    options.max_error = error * share;
    const QuantizeResult result = Quantized(model, options);
    EXPECT_TRUE(!result.written || result.worst <= options.max_error) << share;
  }
}

// The sample that is held out has tiny numbers, to which the correction of the clipped ones is an
// error of many times their size.
TEST(CorrectBiasTest, IsNotUsedBeyondTheBudget) {
  const std::string model = Written(R"(
    g (float[8,1] x) => (float[8,1] y) {
      w = Constant <value = float[1,1] {1.0}> ()
      y = MatMul (x, w)
    })");
  std::vector<double> numbers(40);
  for (int i = 0; i < 40; ++i) numbers[i] = i >= 32 ? 1e-3 : i % 8 == 0 ? 50 : 0.1 * (i % 7);
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {5, 8, 1}}, numbers);
  QuantizeOptions options = With(WriteTemp("s.npz", NpzFile({{"x", x}})));
  options.ranges = "percentile";
  options.percentile = 60;
  options.correct_bias = true;
  const QuantizeResult free = Quantized(model, options);
  EXPECT_THAT(free.notes, Contains(HasSubstr("1 bias is corrected")));
  EXPECT_GT(free.held_out[0].relative, 10);
  options.max_error = 2;
  const QuantizeResult limited = Quantized(model, options);
  EXPECT_TRUE(limited.written);
  EXPECT_LE(limited.worst, 2);
  EXPECT_THAT(limited.notes, Contains(HasSubstr("correct_bias: biases stay as they are, since")));
}

TEST(CorrectionsTest, CanBeCombined) {
  const std::string model = Written(RandomConvNet(4));
  QuantizeOptions options = With(Samples({1, 3, 6, 6}, 10));
  options.equalize = options.correct_bias = true;
  options.smooth = 0.5;
  const QuantizeResult result = Quantized(model, options);
  EXPECT_TRUE(result.written);
  EXPECT_LT(result.worst, 0.1);
}

TEST(CorrectionsTest, RefusesOtherFormsAndAlphas) {
  const auto error = [](const QuantizeOptions& options) {
    return std::string(options.Check().message());
  };
  for (const char* form : {"dynamic", "weights", "bf16"}) {
    QuantizeOptions options;
    options.form = form;
    options.equalize = true;
    EXPECT_THAT(error(options), HasSubstr("option equalize: needs option form static"));
    options.equalize = false;
    options.correct_bias = true;
    EXPECT_THAT(error(options), HasSubstr("option correct_bias: needs option form static"));
    options.correct_bias = false;
    options.smooth = 0.5;
    EXPECT_EQ(options.Check().ok(), form == std::string("dynamic")) << form;
  }
  for (const double alpha : {-0.1, 1.5, std::nan("")}) {
    QuantizeOptions options;
    options.smooth = alpha;
    EXPECT_THAT(error(options), HasSubstr("option smooth: must be from 0 to 1"));
  }
}

}  // namespace
}  // namespace lemma::api
