#include "api/costs.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

constexpr char kModel[] =
    "graph g(x: f32[16,16]) { a = softmax(x) {axis = 1} b = matmul(a, x) return b }";

TEST(CostsTest, AreMeasuredListedAndCarried) {
  const std::string folder = NewTestFolder();
  api::CalibrationOptions options;
  options.database = folder + "/costs.sqlite";
  options.runs = 3;
  options.learn = true;
  auto calibration = api::CompareCosts(ModelOf(kModel), options);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  ASSERT_FALSE(calibration->kernels.empty());
  EXPECT_GT(calibration->learned, 0);
  double predicted = 0;
  for (const auto& kernel : calibration->kernels) predicted += kernel.predicted_ms;
  EXPECT_NEAR(predicted, calibration->predicted_ms, 1e-3);

  auto devices = api::ListCosts(options.database);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].kernels, calibration->learned);

  auto text = api::ExportCosts(options.database, (*devices)[0].device);
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string file = folder + "/costs.txt", copy = folder + "/copy.sqlite";
  ASSERT_TRUE(WriteFileAtomically(file, {*text}).ok());
  auto imported = api::ImportCosts(copy, file, false);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->imported, (*devices)[0].kernels);
  EXPECT_EQ(api::ImportCosts(copy, file, false)->kept, imported->imported);
  EXPECT_EQ(*api::ExportCosts(copy, ""), *text);
}

// A step takes as many milliseconds as it has nodes; one with tanh cannot run.
class MadeUpDevice : public KernelMeasurer {
 public:
  std::string device() const override { return "made up"; }
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override { return planner_->Plan(graph); }
  Work WorkOf(const PlannedKernel& kernel) const override { return planner_->WorkOf(kernel); }
  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    if (kernel.nodes[0]->IsOp("tanh")) return absl::UnimplementedError("no tanh");
    return static_cast<double>(kernel.nodes.size());
  }

 private:
  std::unique_ptr<KernelMeasurer> planner_ = api::MakeMeasurer("cuda", 1);
};

TEST(CostsTest, WantedKernelsAreMeasuredElsewhere) {
  MadeUpDevice device;
  const auto plan = device.Plan(
      ModelOf("graph g(x: f32[16,16], i: i64[4]) { a = softmax(x) {axis = 1} b = matmul(a, x) "
              "c = relu(b) d = gather(c, i) {axis = 0} e = matmul(d, x) f = tanh(x) "
              "g = transpose(f) {perm = [1,0]} h = matmul(e, g) return h }")
          .graph);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_GT(plan->kernels.size(), 3u);
  api::WantedKernels wanted("made up");
  for (size_t i = 0; i < plan->kernels.size(); ++i) {
    wanted.Add(plan->kernels[i], static_cast<double>(i));
  }
  ASSERT_EQ(wanted.size(), plan->kernels.size());
  const std::string folder = NewTestFolder(), file = folder + "/wanted.txt";
  ASSERT_TRUE(WriteFileAtomically(file, {wanted.Text()}).ok());
  api::MeasureWantedOptions options;
  EXPECT_TRUE(absl::StrContains(api::MeasureWanted(file, options).status().message(),
                                "has kernels of 'made up'; this machine is "));
  options.measurers = {&device};
  options.database = folder + "/costs.sqlite";
  auto measured = api::MeasureWanted(file, options);
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->failed, 1);
  EXPECT_EQ(measured->measured, static_cast<int>(plan->kernels.size()) - 1);
  const auto db = *optimizer::CostDb::Open(options.database);
  for (const PlannedKernel& kernel : plan->kernels) {
    const auto cost = *db->Find("made up", kernel.signature);
    if (kernel.nodes[0]->IsOp("tanh")) continue;
    ASSERT_TRUE(cost.has_value()) << kernel.signature;
    EXPECT_EQ(cost->median_ms, static_cast<double>(kernel.nodes.size()));
  }
  measured = api::MeasureWanted(file, options);
  EXPECT_EQ(measured->measured, 0);
  EXPECT_EQ(measured->known, static_cast<int>(plan->kernels.size()) - 1);

  ASSERT_TRUE(WriteFileAtomically(file, {"graph g(x: f32[2]) { return x }"}).ok());
  EXPECT_TRUE(absl::StrContains(api::MeasureWanted(file, options).status().message(),
                                "not a file of wanted kernels"));
  ASSERT_TRUE(
      WriteFileAtomically(file, {wanted.Text(), "graph more(x: f32[2]) { return x }"}).ok());
  EXPECT_TRUE(absl::StrContains(api::MeasureWanted(file, options).status().message(), "graphs"));
}

TEST(CostsTest, ErrorsSayWhatIsMissing) {
  const std::string folder = NewTestFolder();
  EXPECT_TRUE(absl::StrContains(api::ExportCosts(folder + "/a.sqlite", "x").status().message(),
                                "no costs of the device 'x'"));
  EXPECT_FALSE(api::ImportCosts(folder + "/b.sqlite", folder + "/none", false).ok());
  EXPECT_FALSE(FileSize(folder + "/b.sqlite").ok()) << "a database for nothing";
  EXPECT_FALSE(api::ListCosts(folder).ok()) << "a folder is no database";
  api::CalibrationOptions options;
  options.database = folder + "/c.sqlite";
  options.execution.backend = "reference";
  EXPECT_EQ(api::CompareCosts(ModelOf(kModel), options).status().message(),
            "option backend: the kernels of reference are not measured");
  options.runs = 0;
  EXPECT_EQ(api::CompareCosts(ModelOf(kModel), options).status().message(),
            "option runs: must be at least 1");
}

}  // namespace
}  // namespace lemma
