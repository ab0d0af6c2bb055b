// A search must not depend on how single kernels happened to be measured.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/measured_cost.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/rewrite_filter.h"
#include "rewrite/matching/rewrite_source.h"
#include "runtime/cpu/cpu_backend.h"

namespace lemma::optimizer {
namespace {

// The plans of the CPU, with times that follow from a kernel's work, each wrong by a factor of its
// own, as if it had been measured once beside other work.
class NoisyMeasurer : public KernelMeasurer {
 public:
  NoisyMeasurer(uint64_t seed, double noise) : noise_(noise), random_(seed) {}
  std::string device() const override { return "noisy"; }
  absl::StatusOr<KernelPlan> Plan(const Graph& graph) override { return cpu_->Plan(graph); }
  Work WorkOf(const PlannedKernel& kernel) const override { return cpu_->WorkOf(kernel); }
  KernelTraits TraitsOf(const PlannedKernel& kernel) const override {
    return cpu_->TraitsOf(kernel);
  }
  absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) override {
    const Work work = WorkOf(kernel);
    const double ms = 1e-3 + work.flops / 1e8 + (work.bytes_read + work.bytes_written) / 1e7;
    auto [factor, is_new] = factors_.try_emplace(kernel.signature, 1);
    if (is_new) factor->second += noise_ * std::uniform_real_distribution<double>(-1, 1)(random_);
    return ms * factor->second;
  }

 private:
  const std::unique_ptr<KernelMeasurer> cpu_ = MakeCpuMeasurer(1);
  const double noise_;
  std::mt19937_64 random_;
  std::map<std::string, double> factors_;
};

const RuleSet& Rules() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  return *rules;
}

// Convolutions with normalizations and activations, one shape after the other.
Graph Network() {
  std::string text = "graph g(x0: f32[1,8,14,14]";
  std::string body;
  for (int i = 0; i < 12; ++i) {
    const int in = 8 + 4 * i, out = in + 4;
    absl::StrAppend(&text, ", w", i, ": weight f32[", out, ",", in, ",3,3]");
    for (const std::string p : {"s", "b", "m", "v"}) {
      absl::StrAppend(&text, ", ", p, i, ": weight f32[", out, "]");
    }
    absl::StrAppend(&body, "c", i, " = conv2d(x", i, ", w", i, ") {pads = [1,1,1,1]}\n");
    absl::StrAppend(&body, "n", i, " = batch_norm(c", i, ", s", i, ", b", i, ", m", i, ", v", i,
                    ")\nx", i + 1, " = ", i % 3 == 0 ? "tanh" : "relu", "(n", i, ")\n");
  }
  auto graph = ParseGraph(absl::StrCat(text, ") {\n", body, "return x12 }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

TEST(SteadySearchTest, AllNormalizationsAreFoldedHoweverKernelsWereMeasured) {
  const Graph network = Network();
  std::set<uint64_t> results;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    NoisyMeasurer measurer(seed, /*noise=*/0.3);
    auto db = *CostDb::Open("");
    auto costs = MakeMeasuredCostModel(&measurer, db.get());
    const auto rules = Filtered(&Rules(), RewriteFilter());
    BacktrackingOptions options;
    options.limits.max_steps = 500;
    auto found = MakeBacktrackingSearch(rules.get(), costs.get(), options)
                     ->Run(network, [](const SearchProgress&) { return true; });
    ASSERT_TRUE(found.ok()) << found.status();
    int normalizations = 0;
    for (const NodePtr& node : found->best.nodes()) {
      normalizations += node->is_op() && node->op().name == "batch_norm" ? 1 : 0;
    }
    EXPECT_EQ(normalizations, 0) << "seed " << seed;
    results.insert(found->best.StructuralHash());
  }
  EXPECT_EQ(results.size(), 1u);
}

bool DependsOnInput(const Node& node) {
  return node.kind() == Node::Kind::kInput ||
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value& v) { return DependsOnInput(v.node()); });
}

// A product that three others read, as before queries, keys and values: folding it into the weights
// of one of them gains nothing. It pays for all three, and needs no times.
TEST(SteadySearchTest, RewritesThatPayOnlyTogetherNeedNoTimes) {
  const std::string weights =
      "a: weight f32[64,64], q: weight f32[64,64], k: weight f32[64,64], "
      "v: weight f32[64,64]";
  const std::string body =
      "y = matmul(x, a) yq = matmul(y, q) yk = matmul(y, k) "
      "yv = matmul(y, v) eq = exp(yq) tk = tanh(yk) ";
  const auto products = [](const std::string& text) {
    NoisyMeasurer measurer(1, /*noise=*/0);
    auto db = *CostDb::Open("");
    auto costs = MakeMeasuredCostModel(&measurer, db.get());
    const auto rules = Filtered(&Rules(), RewriteFilter());
    BacktrackingOptions options;
    options.descend_only = true;
    auto found = MakeBacktrackingSearch(rules.get(), costs.get(), options)
                     ->Run(*ParseGraph(text), [](const SearchProgress&) { return true; });
    EXPECT_TRUE(found.ok()) << found.status();
    int count = 0;
    for (const NodePtr& node : found->certain.nodes()) {
      count += node->is_op() && node->op().name == "matmul" && DependsOnInput(*node) ? 1 : 0;
    }
    return count;
  };
  const std::string begin = absl::StrCat("graph g(x: f32[16,64], ", weights, ") { ", body);
  EXPECT_EQ(products(begin + "return eq, tk, yv }"), 3);
  // The product has a fourth reader, so it stays, and nothing is folded.
  EXPECT_EQ(products(begin + "r = relu(y) return eq, tk, yv, r }"), 4);
  EXPECT_EQ(products(begin + "return eq, tk, yv, y }"), 4);
}

TEST(SteadySearchTest, WithoutTimeNothingMoreIsMeasured) {
  NoisyMeasurer measurer(1, /*noise=*/0);
  auto db = *CostDb::Open("");
  int measured = 0;
  bool is_late = false;
  MeasureOptions options;
  options.on_measure = [&](absl::string_view) { ++measured; };
  options.is_late = [&] { return is_late; };
  auto costs = MakeMeasuredCostModel(&measurer, db.get(), options);
  const Graph small = *ParseGraph(
      "graph g(x: f32[1,8,14,14], w: weight f32[16,8,3,3]) { y = conv2d(x, w) return y }");
  const auto in_time = costs->CostOf(small);
  ASSERT_TRUE(in_time.ok() && measured > 0) << in_time.status();

  is_late = true;
  const int before = measured;
  EXPECT_EQ(costs->CostOf(small)->ns(), in_time->ns());
  const Graph network = Network();
  const auto late = costs->CostOf(network);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_GT(late->ns(), costs->EstimateOf(network)->ns());  // no graph looks better for it
  EXPECT_EQ(measured, before);

  // What was priced so is measured once there is time.
  is_late = false;
  const auto at_last = costs->CostOf(network);
  ASSERT_TRUE(at_last.ok()) << at_last.status();
  EXPECT_GT(measured, before);
  EXPECT_NE(at_last->ns(), late->ns());
}

// The time is up while the first kernels are measured.
TEST(SteadySearchTest, CertainRewritesNeedNoTime) {
  NoisyMeasurer measurer(1, /*noise=*/0);
  auto db = *CostDb::Open("");
  int measured = 0;
  MeasureOptions options;
  options.on_measure = [&](absl::string_view) { ++measured; };
  options.is_late = [&] { return measured > 0; };
  auto costs = MakeMeasuredCostModel(&measurer, db.get(), options);
  const auto rules = Filtered(&Rules(), RewriteFilter());
  BacktrackingOptions search;
  search.limits.max_steps = 500;
  auto found = MakeBacktrackingSearch(rules.get(), costs.get(), search)
                   ->Run(Network(), [](const SearchProgress&) { return true; });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(measured, 1);
  int normalizations = 0;
  for (const NodePtr& node : found->certain.nodes()) {
    normalizations += node->is_op() && node->op().name == "batch_norm" ? 1 : 0;
  }
  EXPECT_EQ(normalizations, 0);
}

}  // namespace
}  // namespace lemma::optimizer
