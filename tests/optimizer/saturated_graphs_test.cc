// Saturation's results for random graphs and the light models equal their inputs: the checker
// accepts their certificates.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/checker.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/extraction/saturation.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/certificate.h"
#include "tests/verifier/certificate/certificate_cases.h"
#include "verifier/certificate/check.h"

namespace lemma::optimizer {
namespace {

// Arbitrary prices, so that unlikely graphs are the cheapest.
class StrangePrices : public CostModel {
 public:
  StrangePrices(uint64_t seed, bool is_sum) : seed_(seed), is_sum_(is_sum) {}
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    const auto folded = FoldableNodes(graph);
    Cost total;
    for (const NodePtr& node : graph.nodes()) {
      if (node->is_op() && !folded.contains(node.get())) total += PriceOf(*node);
    }
    return total;
  }
  std::optional<Cost> CostOfOperator(const Node& node) override {
    return is_sum_ ? std::optional<Cost>(PriceOf(node)) : std::nullopt;
  }
  std::string Describe() const override { return "strange"; }

 private:
  Cost PriceOf(const Node& node) const {
    uint64_t hash = HashCombine(seed_, HashString(node.op().name));
    for (const TensorType& type : node.types()) hash = HashCombine(hash, type.Hash());
    return Cost::Nanoseconds(static_cast<double>(Mix64(hash) % 1000));
  }
  const uint64_t seed_;
  const bool is_sum_;
};

const RuleSet& Starter() {
  static const RuleSet* rules = RuleSet::Create(StarterRules())->release();
  return *rules;
}

SearchResult Saturate(const Graph& graph, CostModel* costs, int max_nodes) {
  SaturationOptions options;
  options.first.descend_only = true;
  options.max_nodes = max_nodes;
  auto result = MakeSaturationSearch(&Starter(), costs, options)->Run(graph, nullptr);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// The certificate checker repeats the steps and, if `samples`, compares outputs on random inputs.
void ExpectCertified(const Graph& input, const SearchResult& found, int samples) {
  EXPECT_TRUE(CheckGraph(found.best).ok()) << CheckGraph(found.best);
  EXPECT_TRUE(CheckSameInterface(input, found.best).ok());
  EXPECT_LE(found.best_cost.ns(), found.initial_cost.ns());
  if (found.bound) {
    EXPECT_LE(found.bound->cost.ns(), found.best_cost.ns());
  }
  const bool nothing = found.rewrites.empty();
  auto folded = FoldConstants(found.best);
  ASSERT_TRUE(folded.ok()) << folded.status();
  const Graph& output = nothing ? input : *folded;
  auto made = Certify(input, found.rewrites, output, StarterRules(),
                      nothing ? Certificate::Result::kInput : Certificate::Result::kBest);
  ASSERT_TRUE(made.ok()) << made.status();
  CertificateCheckOptions check;
  check.samples = samples;
  EXPECT_EQ(CheckCertificate(*made, input, output, check).problem, "") << PrintGraph(input);
}

TEST(SaturatedGraphsTest, RandomOnes) {
  int rewritten = 0, all = 0, reached = 0, less_than_descent = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    auto instance = RandomInstance(StarterRules(), seed);
    if (!instance) continue;
    // A graph away from the rule's source, with values for the weights.
    const std::string text = RandomWalk(*instance, StarterRules(), seed % 3, seed).output;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    const Graph input = GraphOf(text);
    StrangePrices costs(seed, seed % 4 != 0);
    const SearchResult found = Saturate(input, &costs, 150);
    ExpectCertified(input, found, 1);
    if (HasFailure()) return;
    ++all;
    rewritten += !found.rewrites.empty();
    less_than_descent += found.best_cost < *costs.CostOf(found.descended);
    reached += found.bound && found.bound->cost.ns() >= found.best_cost.ns() - 1;
  }
  printf("%d graphs, %d rewritten, %d further than by descent, %d at the bound\n", all, rewritten,
         less_than_descent, reached);
  EXPECT_GT(all, 240);
  EXPECT_GT(rewritten, 70);
  EXPECT_GT(less_than_descent, 0);
}

class LightTest : public testing::TestWithParam<const char*> {};

TEST_P(LightTest, IsCertified) {
  auto model = ImportOnnx(absl::StrCat("data/models/light/light_", GetParam(), ".onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto costs = MakeAnalyticCostModel();
  const SearchResult found = Saturate(model->graph, costs.get(), 1500);
  ExpectCertified(model->graph, found, 0);
  ASSERT_TRUE(found.bound);
  printf("%s: %ld of %ld, descent %ld, at least %ld%s, %zu steps\n", GetParam(),
         static_cast<long>(found.best_cost.ns()), static_cast<long>(found.initial_cost.ns()),
         static_cast<long>(costs->CostOf(found.descended)->ns()),
         static_cast<long>(found.bound->cost.ns()), found.bound->covers_all_graphs ? " of all" : "",
         found.rewrites.size());
}

INSTANTIATE_TEST_SUITE_P(Light, LightTest,
                         testing::Values("densenet121", "inception_v1", "resnet50", "squeezenet"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma::optimizer
