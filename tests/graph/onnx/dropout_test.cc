#include "graph/ops/random/dropout.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

// Dropout of ones with this seed.
std::vector<double> Dropped(const Shape& shape, double ratio, int64_t seed, int64_t salt) {
  GraphBuilder b("g");
  const Value s = b.Input("seed", {DType::kI64, {}});
  Formula f(ApplyOp);
  const Value ones = f.Filled({DType::kF32, shape}, 1);
  b.Output("y", ops::Dropout(f, ones, ratio, s, salt));
  EXPECT_TRUE(f.status().ok()) << f.status();
  auto executable = MakeReferenceBackend()->Compile(*std::move(b).Build(), {});
  auto outputs = (*executable)->Run({*Tensor::FromInts({DType::kI64, {}}, {seed})});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

double Share(const std::vector<double>& values) {
  double kept = 0;
  for (double v : values) kept += v != 0;
  return kept / static_cast<double>(values.size());
}

// The share of positions at which both keep or both drop.
double Agreement(const std::vector<double>& a, const std::vector<double>& b) {
  double equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += (a[i] != 0) == (b[i] != 0);
  return equal / static_cast<double>(a.size());
}

constexpr double kFourSigma = 4 * 0.5 / 200;  // of 40000 decisions, half one way

TEST(DropoutTest, KeepsTheShareAndTheMean) {
  for (double ratio : {0.1, 0.5, 0.75}) {
    const std::vector<double> y = Dropped({100, 400}, ratio, 7, 1);
    EXPECT_NEAR(Share(y), 1 - ratio, kFourSigma) << ratio;
    for (double v : y) EXPECT_TRUE(v == 0 || std::fabs(v - 1 / (1 - ratio)) < 1e-6);
  }
  EXPECT_EQ(Share(Dropped({10}, 0, 7, 1)), 1);
}

TEST(DropoutTest, SeedsSaltsAndPositionsAreIndependent) {
  const Shape shape = {40000};
  const std::vector<double> y = Dropped(shape, 0.5, 3, 1);
  EXPECT_EQ(y, Dropped(shape, 0.5, 3, 1));
  EXPECT_EQ(y, Dropped({8, 50, 100}, 0.5, 3, 1));  // the position counts, not the shape
  EXPECT_NEAR(Agreement(y, Dropped(shape, 0.5, 4, 1)), 0.5, kFourSigma);
  EXPECT_NEAR(Agreement(y, Dropped(shape, 0.5, 3, 2)), 0.5, kFourSigma);
  for (size_t lag : {1, 2, 8, 64, 1024}) {
    const std::vector<double> later(y.begin() + static_cast<int64_t>(lag), y.end());
    std::vector<double> earlier(y.begin(), y.end() - static_cast<int64_t>(lag));
    EXPECT_NEAR(Agreement(earlier, later), 0.5, kFourSigma) << lag;
  }
}

TEST(DropoutTest, IsImportedForTrainingOnly) {
  const onnx::ModelProto model = OnnxModel(
      "g (float[2] x) => (float[2] y) { r = Constant<value = float {0.25}>() y = Dropout(x, r) }");
  ImportOptions options;
  auto inference = ImportOnnxBytes(model.SerializeAsString(), options);
  options.training = true;
  auto training = ImportOnnxBytes(model.SerializeAsString(), options);
  ASSERT_TRUE(inference.ok() && training.ok());
  EXPECT_EQ(inference->graph.num_ops(), 0);
  EXPECT_EQ(PrintGraph(training->graph),
            "graph g(x: f32[2]) {\n  y = dropout(x) {ratio = 0.25}\n  return y\n}\n");
}

// Zeros and ones that several weights begin with are one initializer and Identities of it.
TEST(DropoutTest, EqualBeginningsAreNotTiesInTraining) {
  onnx::ModelProto model =
      OnnxModel("g (float[2] x) => (float[2] y) { v = Identity(w) a = Mul(x, v) y = Add(a, w) }");
  AddOnes(&model, "w", {2});
  ImportOptions options;
  options.training = true;
  auto training = ImportOnnxBytes(model.SerializeAsString(), options);
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ(PrintGraph(training->graph),
            "graph g(x: f32[2], v: weight f32[2] = fill 1.0, w: weight f32[2] = fill 1.0) {\n"
            "  a = mul(x, v)\n  y = add(a, w)\n  return y\n}\n");
}

}  // namespace
}  // namespace lemma
