// Training compared with given losses: each step gets its own state and batch, and a wrong loss is
// found.
#include "tools/gpu/loss_curve.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "api/models/model_file.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"

namespace lemma::gpu {
namespace {

constexpr char kStep[] = R"(graph step(x: f32[2], lr: f32[], w: f32[2]) {
  d = sub(w, x)
  square = mul(d, d)
  loss = reduce_mean(square) {axes = [0], keepdims = 0}
  change = mul(lr, d)
  n = sub(w, change)
  return loss, w.next = n
})";

constexpr int kSteps = 7, kBatches = 3;
constexpr double kRate = 0.25, kFirst[] = {1, -2}, kX[] = {0.5, 0.25, -1, 3, 2, 0.125};

Graph GraphOf(const char* text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// The losses of kStep, computed by hand.
std::vector<double> Losses() {
  std::vector<double> losses;
  double w[] = {kFirst[0], kFirst[1]};
  for (int k = 0; k < kSteps; ++k) {
    double sum = 0;
    for (int i = 0; i < 2; ++i) {
      const double d = w[i] - kX[2 * (k % kBatches) + i];
      sum += d * d;
      w[i] -= kRate * d;
    }
    losses.push_back(sum / 2);
  }
  return losses;
}

LossCurve Curve() {
  LossCurve curve;
  curve.variants = {{"step", GraphOf(kStep)}};
  curve.state.tensors["w"] = *Tensor::FromDoubles({DType::kF32, {2}}, kFirst);
  curve.data.tensors["x"] = *Tensor::FromDoubles({DType::kF32, {kBatches, 2}}, kX);
  curve.data.tensors["lr"] = Tensor::ScalarF32(kRate);
  curve.expected = Losses();
  curve.in_f32 = curve.expected;
  curve.in_f32[1] *= 1 + 1e-6;
  curve.allowed.assign(kSteps, 1e-5);
  return curve;
}

TEST(LossCurve, EachStepReadsTheStateOfTheOneBeforeAndTheNextBatch) {
  const LossCurve curve = Curve();
  auto run = RunCurve(curve, curve.variants[0].graph, MakeReferenceBackend().get());
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->losses.size(), kSteps);
  for (int k = 0; k < kSteps; ++k) EXPECT_NEAR(run->losses[k], Losses()[k], 1e-6) << k;
  const CurveDifference d = CompareCurve(curve, run->losses);
  EXPECT_EQ(d.step, 0);
  EXPECT_LT(d.relative, 1e-5);
  EXPECT_NEAR(d.relative_of_f32, 1e-6, 1e-9);
  // The given state is unchanged.
  EXPECT_EQ(curve.state.tensors.at("w").AtDouble(0), kFirst[0]);
}

TEST(LossCurve, AnotherStepIsFound) {
  const LossCurve curve = Curve();
  std::string text = kStep;
  text.replace(text.find("sub(w, change)"), 3, "add");
  auto run = RunCurve(curve, GraphOf(text.c_str()), MakeReferenceBackend().get());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(CompareCurve(curve, run->losses).step, 2);
}

TEST(LossCurve, TheFirstLossThatIsOffIsNamed) {
  const LossCurve curve = Curve();
  std::vector<double> losses = Losses();
  losses[2] += 0.9e-5;
  EXPECT_EQ(CompareCurve(curve, losses).step, 0);
  losses[4] += 1.5e-5;
  losses[5] += 1;
  const CurveDifference d = CompareCurve(curve, losses);
  EXPECT_EQ(d.step, 5);
  EXPECT_NEAR(d.difference, 1.5e-5, 1e-9);
  EXPECT_EQ(d.allowed, 1e-5);
  EXPECT_NEAR(d.relative, 1 / Losses()[5], 1e-9);
  losses[3] = NAN;
  EXPECT_EQ(CompareCurve(curve, losses).step, 4);
}

TEST(LossCurve, ValuesThatAreMissingOrDoNotFitAreErrors) {
  auto message = [](const LossCurve& curve, const Graph& step) {
    return std::string(RunCurve(curve, step, MakeReferenceBackend().get()).status().message());
  };
  const Graph step = GraphOf(kStep);
  LossCurve curve = Curve();
  curve.data.tensors.erase("lr");
  EXPECT_EQ(message(curve, step), "lr: there are no values of it");
  curve = Curve();
  curve.state.tensors.clear();
  EXPECT_EQ(message(curve, step), "w: there are no values of it");
  curve = Curve();
  curve.data.tensors["x"] = *Tensor::FromDoubles({DType::kF32, {2, 3}}, kX);
  EXPECT_EQ(message(curve, step), "x: is f32[2,3], the step needs f32[2]");
  EXPECT_EQ(message(curve, GraphOf("graph g(x: f32[]) {\n  loss = relu(x)\n  return loss\n}")),
            "the step has no state");
  EXPECT_EQ(message(curve, GraphOf("graph g(x: f32[2]) {\n  loss = relu(x)\n  return loss\n}")),
            "the step has no scalar output loss");
}

class CurveFolderTest : public testing::Test {
 protected:
  CurveFolderTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(folder_);
    const LossCurve curve = Curve();
    Save("step.pb");
    EXPECT_TRUE(WriteSafetensors(folder_ + "/step.pb.safetensors", curve.state).ok());
    EXPECT_TRUE(WriteSafetensors(folder_ + "/data.safetensors", curve.data).ok());
    SaveLosses(kSteps);
  }

  void Save(const std::string& file) {
    api::Model model;
    model.graph = GraphOf(kStep);
    ASSERT_TRUE(api::SaveModel(model, folder_ + "/" + file, api::ModelFormat::kProto).ok());
  }

  void SaveLosses(int allowed) {
    NamedTensors losses;
    losses.tensors["f64"] = *Tensor::FromDoubles({DType::kF64, {kSteps}}, Losses());
    losses.tensors["f32"] = losses.tensors["f64"];
    losses.tensors["allowed"] = *Tensor::Filled({DType::kF64, {allowed}}, 1e-5);
    ASSERT_TRUE(WriteSafetensors(folder_ + "/losses.safetensors", losses).ok());
  }

  const std::string root_ = testing::TempDir() + "/loss_curve_test";
  const std::string folder_ = root_ + "/curves/small";
};

TEST_F(CurveFolderTest, IsReadAndTrained) {
  EXPECT_EQ(CurveFolders(root_), std::vector<std::string>{folder_});
  EXPECT_TRUE(CurveFolders(root_ + "/none").empty());
  auto curve = LoadCurve(folder_);
  ASSERT_TRUE(curve.ok()) << curve.status();
  ASSERT_EQ(curve->variants.size(), 1);
  Save("step.optimized.pb");
  curve = LoadCurve(folder_);
  ASSERT_TRUE(curve.ok()) << curve.status();
  ASSERT_EQ(curve->variants.size(), 2);
  EXPECT_EQ(curve->variants[1].name, "small.optimized");
  for (const Variant& variant : curve->variants) {
    auto run = RunCurve(*curve, variant.graph, MakeReferenceBackend().get());
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(CompareCurve(*curve, run->losses).step, 0);
  }
}

TEST_F(CurveFolderTest, AFileThatIsMissingOrTooShortIsAnError) {
  SaveLosses(kSteps - 1);
  EXPECT_EQ(LoadCurve(folder_).status().message(),
            folder_ +
                "/losses.safetensors: needs f64, f32 and allowed, one number of each for "
                "every step");
  std::filesystem::remove(folder_ + "/data.safetensors");
  EXPECT_FALSE(LoadCurve(folder_).ok());
}

}  // namespace
}  // namespace lemma::gpu
