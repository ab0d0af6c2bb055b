#include "optimizer/cost/plan_comparison.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/measured_cost.h"
#include "runtime/cpu/cpu_backend.h"

namespace lemma::optimizer {
namespace {

using Verdict = PlanComparison::Verdict;

// Kernels with given traits and prices.
class FakeCosts : public CostModel {
 public:
  int Add(KernelTraits traits, KernelPrice price) {
    traits_.push_back(std::move(traits));
    prices_.push_back(price);
    return static_cast<int>(traits_.size()) - 1;
  }
  absl::StatusOr<Cost> CostOf(const Graph&) override { return Cost(); }
  std::string Describe() const override { return "fake"; }
  const KernelTraits& TraitsOf(int kernel) override { return traits_[kernel]; }
  absl::StatusOr<std::vector<KernelPrice>> PricesOf(const KernelList& kernels) override {
    std::vector<KernelPrice> prices;
    for (const KernelUse& use : kernels) prices.push_back(prices_[use.kernel]);
    asked += static_cast<int>(prices.size());
    return prices;
  }
  absl::StatusOr<bool> Refine(const KernelList& kernels) override {
    if (refined.empty()) return false;
    for (const KernelUse& use : kernels) prices_[use.kernel] = refined[use.kernel];
    return true;
  }
  absl::StatusOr<bool> Confirm(const KernelList& kernels) override {
    if (confirmed.empty()) return false;
    for (const KernelUse& use : kernels) prices_[use.kernel] = confirmed[use.kernel];
    return true;
  }
  int asked = 0;
  std::vector<KernelPrice> refined, confirmed;

 private:
  std::vector<KernelTraits> traits_;
  std::vector<KernelPrice> prices_;
};

KernelTraits Conv(std::vector<std::string> fused, int operators, double bytes) {
  return {"conv", std::move(fused), operators, {1000, bytes, 0}};
}

TEST(PlanComparisonTest, FewerKernelsNeedNoTimes) {
  FakeCosts costs;
  const int conv = costs.Add(Conv({}, 1, 10), {5, 1});
  const int relu = costs.Add({"relu", {"relu"}, 1, {10, 10, 0}}, {5, 1});
  auto result = Compare({{conv, 2}, {relu, 1}}, {{conv, 2}}, -1, &costs);
  EXPECT_EQ(result->verdict, Verdict::kBetter);
  EXPECT_TRUE(result->is_certain);
  EXPECT_EQ(costs.asked, 0);
  EXPECT_EQ(Compare({{conv, 2}}, {{conv, 2}, {relu, 1}}, 1, &costs)->verdict, Verdict::kWorse);
  EXPECT_EQ(costs.asked, 0);
}

TEST(PlanComparisonTest, TheSameMainWorkWithLessAroundItNeedsNoTimes) {
  FakeCosts costs;
  // Measured the other way round, as happens to kernels that are measured once.
  const int normalized = costs.Add(Conv({"batch_norm", "relu"}, 3, 40), {5, 0});
  const int biased = costs.Add(Conv({"relu"}, 2, 20), {6, 0});
  auto result = Compare({{normalized, 53}}, {{biased, 53}}, -53, &costs);
  EXPECT_EQ(result->verdict, Verdict::kBetter);
  EXPECT_TRUE(result->is_certain);
  EXPECT_EQ(costs.asked, 0);
}

TEST(PlanComparisonTest, WhatDoesMoreIsTimed) {
  FakeCosts costs;
  const int conv = costs.Add(Conv({"relu"}, 2, 20), {6, 0});
  const KernelTraits others[] = {
      {"winograd", {"relu"}, 1, {1000, 20, 0}},  // other main work
      Conv({"tanh"}, 1, 20),                     // fuses what was not there
      Conv({"relu"}, 1, 30),                     // moves more
      {"conv", {"relu"}, 1, {2000, 20, 0}},      // computes more
      {"", {}, 1, {0, 1, 0}},                    // main work unknown
  };
  for (const KernelTraits& other : others) {
    const int kernel = costs.Add(other, {5, 0});
    EXPECT_FALSE(CannotLose({{{conv, 1}}, {{kernel, 1}}}, &costs)) << other.core;
    auto result = Compare({{conv, 1}}, {{kernel, 1}}, 0, &costs);
    EXPECT_FALSE(result->is_certain);
    EXPECT_EQ(result->verdict, Verdict::kBetter);
    EXPECT_EQ(result->ns, -1);
  }
  // With more operators and nothing gained, it is known to be worse.
  const int more = costs.Add(Conv({"relu"}, 3, 20), {5, 0});
  EXPECT_EQ(Compare({{conv, 1}}, {{more, 1}}, 1, &costs)->verdict, Verdict::kWorse);
  // One old kernel cannot stand for two.
  EXPECT_FALSE(CannotLose({{{conv, 1}}, {{conv, 2}}}, &costs));
}

TEST(PlanComparisonTest, GapsArePaidForByCopies) {
  FakeCosts costs;
  KernelTraits traits = Conv({}, 2, 100);
  const int dense = costs.Add(traits, {5, 0});
  traits.operators = 1;
  traits.gap_bytes = 60;
  const int gaps = costs.Add(traits, {5, 0});
  const int small = costs.Add({"", {}, 0, {0, 0, 50}}, {1, 0});
  const int large = costs.Add({"", {}, 0, {0, 0, 60}}, {1, 0});
  EXPECT_FALSE(CannotLose({{{dense, 1}}, {{gaps, 1}}}, &costs));
  EXPECT_FALSE(CannotLose({{{dense, 1}, {small, 1}}, {{gaps, 1}}}, &costs));
  EXPECT_TRUE(CannotLose({{{dense, 1}, {large, 1}}, {{gaps, 1}}}, &costs));
}

TEST(PlanComparisonTest, OperatorsDecideWithinTheError) {
  FakeCosts costs;
  const int a = costs.Add(Conv({}, 1, 20), {100, 3});
  const int b = costs.Add({"other", {}, 1, {1000, 20, 0}}, {95, 4});  // 5 less, error 5
  EXPECT_EQ(Compare({{a, 1}}, {{b, 1}}, 0, &costs)->verdict, Verdict::kEven);
  EXPECT_EQ(Compare({{a, 1}}, {{b, 1}}, 1, &costs)->verdict, Verdict::kEven);
  EXPECT_EQ(Compare({{a, 1}}, {{b, 1}}, -1, &costs)->verdict, Verdict::kBetter);
  // Errors of one kernel add up where it runs repeatedly: 50 less, error 50.
  EXPECT_EQ(Compare({{a, 10}}, {{b, 10}}, 0, &costs)->verdict, Verdict::kEven);
  const int c = costs.Add({"third", {}, 1, {1000, 10, 0}}, {100, 3});
  EXPECT_EQ(Compare({{a, 1}}, {{c, 1}}, 0, &costs)->verdict, Verdict::kBetter);  // fewer bytes
  EXPECT_EQ(Compare({{c, 1}}, {{a, 1}}, 0, &costs)->verdict, Verdict::kEven);
}

TEST(PlanComparisonTest, OnlyRealChoicesAreTimed) {
  FakeCosts costs;
  const int normalized = costs.Add(Conv({"batch_norm"}, 2, 40), {5, 0});
  const int biased = costs.Add(Conv({}, 2, 20), {60, 0});  // measured beside other work
  const int a = costs.Add({"other", {}, 1, {1000, 20, 0}}, {100, 3});
  const int b = costs.Add({"third", {}, 1, {1000, 30, 0}}, {80, 3});
  const int even = costs.Add({"fourth", {}, 1, {1000, 30, 0}}, {100, 3});
  auto result = Compare({{normalized, 3}, {a, 1}}, {{biased, 3}, {b, 1}}, 0, &costs);
  EXPECT_EQ(result->verdict, Verdict::kBetter);
  EXPECT_EQ(result->ns, -20);
  // What is certain decides where the rest is a tie.
  result = Compare({{normalized, 3}, {a, 1}}, {{biased, 3}, {even, 1}}, 0, &costs);
  EXPECT_EQ(result->verdict, Verdict::kBetter);
  EXPECT_EQ(Compare({{biased, 3}, {even, 1}}, {{normalized, 3}, {a, 1}}, 0, &costs)->verdict,
            Verdict::kEven);
}

TEST(PlanComparisonTest, ALossIsNoTieAndWhatCannotRunIsWorse) {
  FakeCosts costs;
  const int a = costs.Add(Conv({}, 1, 20), {100, 3});
  const int slower = costs.Add({"other", {}, 1, {1000, 20, 0}}, {106, 4});
  const int never = costs.Add({"never", {}, 1, {1000, 20, 0}}, {HUGE_VAL, 0});
  EXPECT_EQ(Compare({{a, 1}}, {{slower, 1}}, -1, &costs)->verdict, Verdict::kWorse);
  EXPECT_EQ(Compare({{a, 1}}, {{never, 1}}, -1, &costs)->verdict, Verdict::kWorse);
  EXPECT_EQ(Compare({{never, 1}}, {{a, 1}}, 1, &costs)->verdict, Verdict::kBetter);
}

TEST(PlanComparisonTest, UncertainTimesAreTakenAgain) {
  FakeCosts costs;
  const int a = costs.Add(Conv({}, 1, 20), {100, 3});
  const int b = costs.Add({"other", {}, 1, {1000, 20, 0}}, {99, 4});
  costs.refined = {{100, 1}, {90, 1}};
  auto result = Compare({{a, 1}}, {{b, 1}}, 0, &costs);
  EXPECT_EQ(result->verdict, Verdict::kBetter);
  EXPECT_EQ(result->ns, -10);
}

// A kernel that was measured as too fast by chance is no gain.
TEST(PlanComparisonTest, AGainIsConfirmed) {
  FakeCosts costs;
  const int a = costs.Add(Conv({}, 1, 20), {100, 1});
  const int b = costs.Add({"other", {}, 1, {1000, 20, 0}}, {90, 1});
  EXPECT_EQ(Compare({{a, 1}}, {{b, 1}}, 0, &costs)->verdict, Verdict::kBetter);
  costs.confirmed = {{100, 1}, {99, 1}};
  EXPECT_EQ(Compare({{a, 1}}, {{b, 1}}, 0, &costs)->verdict, Verdict::kEven);
}

// The plans of a convolution with a batch normalization behind it, and of one with a bias.
TEST(PlanComparisonTest, AFoldedNormalizationIsKnownToBeBetterOnACpu) {
  auto measurer = MakeCpuMeasurer(1);
  auto db = *CostDb::Open("");
  MeasureOptions options;
  options.on_measure = [](absl::string_view kernel) { ADD_FAILURE() << "measured " << kernel; };
  auto costs = MakeMeasuredCostModel(measurer.get(), db.get(), options);
  auto kernels = [&](const std::string& body) {
    auto graph = ParseGraph(
        "graph g(x: f32[1,8,14,14], w: weight f32[16,8,3,3], b: weight f32[16], m: weight f32[16],"
        " s: weight f32[16], v: weight f32[16]) {\n" +
        body + "return y }");
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto list = costs->KernelsOf(*graph);
    EXPECT_TRUE(list.ok() && list->has_value()) << list.status();
    return **list;
  };
  const std::string conv = "c = conv2d(x, w) {pads = [1,1,1,1]}\n";
  for (const std::string last : {"y = relu(n)\n", "y = tanh(n)\n"}) {
    const auto normalized = kernels(conv + "n = batch_norm(c, s, b, m, v)\n" + last);
    const auto biased =
        kernels(conv + "r = reshape(b) {shape = [1,16,1,1]}\nn = add(c, r)\n" + last);
    const auto wide = kernels(conv + "e = exp(c)\nn = add(e, c)\n" + last);
    auto result = Compare(normalized, biased, 0, costs.get());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->verdict, Verdict::kBetter) << last;
    EXPECT_TRUE(result->is_certain) << last;
    EXPECT_FALSE(CannotLose(DifferenceOf(normalized, wide), costs.get())) << last;
  }
}

}  // namespace
}  // namespace lemma::optimizer
