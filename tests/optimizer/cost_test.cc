#include "optimizer/cost/cost.h"

#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/cost/calibration.h"
#include "optimizer/cost/measured_cost.h"

namespace lemma::optimizer {
namespace {

TEST(CostTest, SumsSaturate) {
  Cost huge = Cost::Nanoseconds(9e18);
  EXPECT_TRUE((huge + huge).is_infinite());
  EXPECT_TRUE((Cost::Infinite() + Cost::Nanoseconds(1)).is_infinite());
  EXPECT_TRUE(Cost::Infinite().Scaled(0.5).is_infinite());
  EXPECT_TRUE(Cost::Nanoseconds(1e30).is_infinite());
  EXPECT_TRUE(Cost::Milliseconds(std::numeric_limits<double>::quiet_NaN()).is_infinite());
  EXPECT_TRUE(huge < Cost::Infinite());
}

TEST(CostTest, TimesAddAndPeaksDoNot) {
  Cost sum = Cost::Milliseconds(1).WithPeak(10) + Cost::Milliseconds(2).WithPeak(7);
  EXPECT_EQ(sum.ns(), 3000000);
  EXPECT_EQ(sum.peak_bytes(), 10);
}

TEST(CostTest, TimeDecidesBeforeMemory) {
  EXPECT_TRUE(Cost::Nanoseconds(1).WithPeak(100) < Cost::Nanoseconds(2).WithPeak(1));
  EXPECT_TRUE(Cost::Nanoseconds(1).WithPeak(1) < Cost::Nanoseconds(1).WithPeak(2));
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(PeakLiveBytesTest, FreesWhatIsUsedUp) {
  // a: 400 bytes; every relu's operand dies with it, so two values are alive at once.
  Graph g = Parse("graph g(a: f32[100]) { b = relu(a)\n c = exp(b)\n d = relu(c)\n return d }");
  EXPECT_EQ(PeakLiveBytes(g), 800);
  EXPECT_EQ(LiveBytes(g), (std::vector<int64_t>{800, 800, 800}));
}

TEST(AnalyticCostTest, WhatDependsOnWeightsOnlyIsFree) {
  auto model = MakeAnalyticCostModel();
  Graph direct = Parse(
      "graph g(x: f32[64,64], w: weight f32[64,64] = fill 1.0) {\n"
      "  y = matmul(x, w)\n return y }");
  Graph through = Parse(
      "graph g(x: f32[64,64], w: weight f32[64,64] = fill 1.0) {\n"
      "  v = exp(w)\n y = matmul(x, v)\n return y }");
  EXPECT_EQ(model->CostOf(direct)->ns(), model->CostOf(through)->ns());
}

TEST(AnalyticCostTest, MoreWorkCostsMore) {
  auto model = MakeAnalyticCostModel();
  auto cost = [&](int n) {
    std::string size = std::to_string(n);
    return model
        ->CostOf(Parse("graph g(x: f32[" + size + "," + size + "]) {\n" +
                       "  y = matmul(x, x)\n return y }"))
        ->ns();
  };
  EXPECT_LT(2 * cost(256), cost(512));
}

// Each operator is a kernel, and takes as many milliseconds as its name is long.
class FakeMeasurer : public KernelMeasurer {
 public:
  std::string device() const override { return "fake"; }
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override {
    KernelPlan plan;
    for (const NodePtr& node : graph.nodes()) {
      if (node->is_op()) plan.kernels.push_back({node->op().name, nullptr, {}});
    }
    plan.peak_bytes = 5;
    return plan;
  }
  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    ++measured[kernel.signature];
    if (kernel.signature == "log") return absl::UnimplementedError("no logarithms here");
    return factor * static_cast<double>(kernel.signature.size());
  }
  // As many bytes as the name is long, and ten times as many operations.
  Work WorkOf(const PlannedKernel& kernel) const override {
    const double length = static_cast<double>(kernel.signature.size());
    return {10 * length, length, 0};
  }
  std::map<std::string, int> measured;
  double factor = 1;
};

// Costs on a machine that does nothing else: what others use of this one does not count.
MeasureOptions Quiet() {
  MeasureOptions options;
  options.others_share = [] { return 0.0; };
  return options;
}

TEST(MeasuredCostTest, MeasuresEachKernelOnceAndKeepsIt) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n c = exp(b)\n d = relu(c)\n return d }");
  MeasureOptions options = Quiet();
  options.repetitions = 1;
  for (int i = 0; i < 2; ++i) {
    auto model = MakeMeasuredCostModel(&measurer, db.get(), options);
    auto cost = model->CostOf(g);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_DOUBLE_EQ(cost->ms(), 4 + 3 + 4);
    EXPECT_EQ(cost->peak_bytes(), 5);
  }
  EXPECT_EQ(measurer.measured["relu"], 1);
  EXPECT_EQ(*db->Count(), 2);
}

TEST(MeasuredCostTest, MeasuresAgainOnAQuietMachineWhatABusyOneMeasured) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("fake", "relu", {6, 0, 3, 0, 0, 0, /*load=*/0.9, 1}).ok());
  ASSERT_TRUE(db->Put("fake", "exp", {3, 0, 3, 0, 0, 0, /*load=*/0.0, std::time(nullptr)}).ok());
  const Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n c = exp(b)\n return c }");
  auto ms = [&](double load) {
    MeasureOptions options;
    options.others_share = [load] { return load; };
    return MakeMeasuredCostModel(&measurer, db.get(), options)->CostOf(g)->ms();
  };
  EXPECT_DOUBLE_EQ(ms(0.5), 6 + 3);  // busy still
  EXPECT_TRUE(measurer.measured.empty());
  EXPECT_DOUBLE_EQ(ms(0.0), 4 + 3);
  EXPECT_DOUBLE_EQ(ms(0.5), 4 + 3);
  EXPECT_EQ(measurer.measured.count("exp"), 0u);
}

// Otherwise the time that it took in a graph on the busy machine would stay for good.
TEST(MeasuredCostTest, TimesInRunsAgeWithTheMeasurement) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("fake", "relu", {6, 0, 3, 0, 0, /*in_graph=*/20, /*load=*/0.9, 1}).ok());
  const MeasureOptions options = Quiet();
  const Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n return b }");
  EXPECT_DOUBLE_EQ(MakeMeasuredCostModel(&measurer, db.get(), options)->CostOf(g)->ms(), 4);
  EXPECT_EQ((*db->Find("fake", "relu"))->in_graph_ms, 0);
}

TEST(MeasuredCostTest, OldMeasurementsAreRepeated) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  const int64_t now = std::time(nullptr), day = 24 * 3600;
  ASSERT_TRUE(db->Put("fake", "relu", {6, 0, 3, 0, 0, 0, 0, now - 60 * day}).ok());
  ASSERT_TRUE(db->Put("fake", "exp", {9, 0, 3, 0, 0, 0, 0, now - 2 * day}).ok());
  const MeasureOptions options = Quiet();
  auto model = MakeMeasuredCostModel(&measurer, db.get(), options);
  const Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n c = exp(b)\n return c }");
  EXPECT_DOUBLE_EQ(model->CostOf(g)->ms(), 4 + 9);
  EXPECT_GE((*db->Find("fake", "relu"))->measured_at, now);
}

TEST(MeasuredCostTest, UncertainKernelsAreMeasuredAgainOnce) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("fake", "relu", {6, /*variance=*/3, 3}).ok());
  auto model = MakeMeasuredCostModel(&measurer, db.get(), Quiet());
  auto kernels = model->KernelsOf(Parse("graph g(a: f32[4]) { b = relu(a)\n return b }"));
  ASSERT_TRUE(kernels.ok() && kernels->has_value());
  EXPECT_NEAR((*model->PricesOf(**kernels))[0].error_ns, 1e6, 1e4);
  EXPECT_TRUE(*model->Refine(**kernels));
  EXPECT_DOUBLE_EQ((*model->PricesOf(**kernels))[0].ns, 4e6);
  EXPECT_NEAR((*model->PricesOf(**kernels))[0].error_ns, 0.04e6, 1);
  EXPECT_FALSE(*model->Refine(**kernels));
}

// Also across searches, unless the times vary much.
TEST(MeasuredCostTest, KernelsMeasuredTwiceAreMeasuredAgainIfTheyVaryMuch) {
  for (const double relative_error : {0.03, 0.08}) {
    FakeMeasurer measurer;
    auto db = *CostDb::Open("");
    const double error = 4 * relative_error;
    ASSERT_TRUE(db->Put("fake", "relu", {4, 6 * error * error, /*repetitions=*/6}).ok());
    auto model = MakeMeasuredCostModel(&measurer, db.get(), Quiet());
    auto kernels = model->KernelsOf(Parse("graph g(a: f32[4]) { b = relu(a)\n return b }"));
    ASSERT_TRUE(kernels.ok() && kernels->has_value());
    ASSERT_TRUE(model->PricesOf(**kernels).ok());
    EXPECT_EQ(*model->Refine(**kernels), relative_error > 0.04) << relative_error;
  }
}

// Also across searches: a gain needs two measurements, not more.
TEST(MeasuredCostTest, KernelsMeasuredOnceAreConfirmedOnce) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  const Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n return b }");
  for (int search = 1; search <= 2; ++search) {
    auto model = MakeMeasuredCostModel(&measurer, db.get(), Quiet());
    auto kernels = model->KernelsOf(g);
    ASSERT_TRUE(kernels.ok() && kernels->has_value());
    ASSERT_TRUE(model->PricesOf(**kernels).ok());
    EXPECT_EQ(*model->Confirm(**kernels), search == 1);
    EXPECT_FALSE(*model->Confirm(**kernels));
  }
  EXPECT_EQ((*db->Find("fake", "relu"))->repetitions, 6);
}

// A phase in which other processes slow a kernel must end before the kernel is measured for the
// last time.
TEST(MeasuredCostTest, OnABusyMachineKernelsAreConfirmedAtSeveralTimes) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  MeasureOptions busy;
  busy.others_share = [] { return 0.7; };
  auto model = MakeMeasuredCostModel(&measurer, db.get(), busy);
  auto kernels = model->KernelsOf(Parse("graph g(a: f32[4]) { b = relu(a)\n return b }"));
  ASSERT_TRUE(kernels.ok() && kernels->has_value());
  measurer.factor = 1.3;
  ASSERT_TRUE(model->PricesOf(**kernels).ok());
  EXPECT_TRUE(*model->Confirm(**kernels));
  EXPECT_DOUBLE_EQ((*model->PricesOf(**kernels))[0].ns, 5.2e6);
  measurer.factor = 1;
  EXPECT_TRUE(*model->Refine(**kernels));
  EXPECT_DOUBLE_EQ((*model->PricesOf(**kernels))[0].ns, 4e6);
  measurer.factor = 1.3;
  EXPECT_TRUE(*model->Confirm(**kernels));
  EXPECT_DOUBLE_EQ((*model->PricesOf(**kernels))[0].ns, 4e6);
  EXPECT_FALSE(*model->Confirm(**kernels));
  EXPECT_FALSE(*model->Refine(**kernels));
}

TEST(MeasuredCostTest, RunsOfGraphsCorrectWhatWasMeasuredAlone) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  Graph g = Parse("graph g(a: f32[4]) { b = relu(a)\n c = exp(b)\n return c }");
  auto ms = [&] { return MakeMeasuredCostModel(&measurer, db.get(), Quiet())->CostOf(g)->ms(); };
  EXPECT_DOUBLE_EQ(ms(), 4 + 3);
  EXPECT_EQ(*db->PutInGraph("fake", {{"relu", 6}}), 1);
  // relu takes its time in the graph. exp has none there, so it takes 6 / 4 of its measured time,
  // as other kernels do.
  EXPECT_DOUBLE_EQ(ms(), 6 + 4.5);
  EXPECT_DOUBLE_EQ(ms(), 6 + 4.5);
}

TEST(CalibrationTest, FitsEachKindOfKernel) {
  const std::vector<CostEntry> known = {{"d", "conv(a)", {1, 0, 1, 0, 0, 2}},
                                        {"d", "conv(b)", {3, 0, 1, 0, 0, 3}},
                                        {"d", "conv(c)", {10, 0, 1}},
                                        {"d", "copy(a)", {4, 0, 1, 0, 0, 1}},
                                        {"d", "pool(a)", {10, 0, 1}}};
  const Calibration correction(known);
  EXPECT_DOUBLE_EQ(correction.Milliseconds("conv(a)", 1), 2);
  EXPECT_DOUBLE_EQ(correction.Milliseconds("conv(c)", 10), 10 * 5.0 / 4);
  EXPECT_DOUBLE_EQ(correction.FactorOf("copy"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(correction.FactorOf("pool"), 6.0 / 8);
  EXPECT_DOUBLE_EQ(Calibration({}).Milliseconds("conv(a)", 7), 7);
  EXPECT_EQ(KindOfKernel("max pool(f32[1]) -> f32[1]"), "max pool");
}

TEST(KnownCostTest, TakesWhatIsKnownOfAnotherDeviceAndMeasuresNothing) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  // 1e6 bytes take 2 ms, of which 0.01 ms is the start: the rate is 1e6 bytes in 1.99 ms.
  ASSERT_TRUE(db->Put("gpu", "relu", {0.01, 0, 1, 0, 0}).ok());
  ASSERT_TRUE(db->Put("gpu", "matmul", {2, 0, 1, 0, 1e6}).ok());
  std::vector<std::string> wanted;
  auto model =
      MakeKnownCostModel(&measurer, db.get(), "gpu", [&](const PlannedKernel& kernel, double ms) {
        EXPECT_NEAR(ms, 0.01 + 4 * 1.99 / 1e6, 1e-6);
        wanted.push_back(kernel.signature);
      });
  ASSERT_TRUE(model.ok()) << model.status();
  auto known = (*model)->CostOf(Parse("graph g(a: f32[4]) { b = relu(a)\n return b }"));
  EXPECT_DOUBLE_EQ(known->ms(), 0.01);
  auto estimated = (*model)->CostOf(Parse("graph g(a: f32[4]) { b = tanh(a)\n return b }"));
  EXPECT_NEAR(estimated->ms(), 0.01 + 4 * 1.99 / 1e6, 1e-6);
  ASSERT_TRUE((*model)->CostOf(Parse("graph g(a: f32[4]) { b = tanh(a)\n return b }")).ok());
  EXPECT_EQ(wanted, std::vector<std::string>{"tanh"});
  EXPECT_TRUE(measurer.measured.empty());
  ASSERT_TRUE(db->PutInGraph("gpu", {{"relu", 0.02}}).ok());
  auto corrected = MakeKnownCostModel(&measurer, db.get(), "gpu");
  EXPECT_DOUBLE_EQ(
      (*corrected)->CostOf(Parse("graph g(a: f32[4]) { b = relu(a)\n return b }"))->ms(), 0.02);
}

TEST(KnownCostTest, NamesTheDevicesThereAre) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  ASSERT_TRUE(db->Put("gpu", "relu", {1, 0, 1}).ok());
  auto model = MakeKnownCostModel(&measurer, db.get(), "npu");
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(std::string(model.status().message()), testing::HasSubstr("'gpu'"));
}

TEST(RooflineTest, FitsWhatFastKernelsReach) {
  std::vector<CostEntry> entries = {{"d", "tiny", {0.001, 0, 1, 1e3, 1e3}}};
  for (int i = 0; i < 20; ++i) {  // 1e9 flops and 1e8 bytes in 10 ms, the odd ones twice as long
    entries.push_back({"d", std::to_string(i), {i % 2 ? 20.001 : 10.001, 0, 1, 1e9, 1e8}});
  }
  const Roofline machine = FitRoofline(entries);
  EXPECT_NEAR(machine.overhead_ns, 1000, 1e-6);
  EXPECT_NEAR(machine.flops_per_second, 1e11, 1e5);
  EXPECT_NEAR(machine.bytes_per_second, 1e10, 1e4);
  EXPECT_EQ(FitRoofline({}).flops_per_second, Roofline().flops_per_second);
}

TEST(MeasuredCostTest, WhatCannotRunIsInfinite) {
  FakeMeasurer measurer;
  auto db = *CostDb::Open("");
  auto model = MakeMeasuredCostModel(&measurer, db.get(), Quiet());
  auto cost = model->CostOf(Parse("graph g(a: f32[4]) { b = log(a)\n return b }"));
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_TRUE(cost->is_infinite());
}

}  // namespace
}  // namespace lemma::optimizer
