// Searches of real models give the same result every time, and find nothing more in their results.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/rewrite_filter.h"
#include "tests/optimizer/transformer_text.h"

namespace lemma::optimizer {
namespace {

const RewriteSource& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  static const RewriteSource* proved = Filtered(rules, RewriteFilter()).release();
  return *proved;
}

Graph Load(const std::string& name) {
  if (name == "transformer") return *ParseGraph(TransformerText({6}));
  auto model = ImportOnnx(absl::StrCat("data/models/light/light_", name, ".onnx"));
  EXPECT_TRUE(model.ok()) << model.status();
  return model->graph;
}

SearchResult Optimize(const Graph& graph, int64_t budget, const RewriteSource& rules = Starter()) {
  auto costs = MakeAnalyticCostModel();
  BacktrackingOptions options;
  options.limits.max_steps = budget;
  auto result = MakeBacktrackingSearch(&rules, costs.get(), options)->Run(graph, nullptr);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

class RepeatableSearchTest : public testing::TestWithParam<const char*> {};

TEST_P(RepeatableSearchTest, OptimizingTwiceChangesNothing) {
  const SearchResult once = Optimize(Load(GetParam()), 20000);
  EXPECT_LE(once.best_cost.ns(), once.initial_cost.ns());
  const SearchResult twice = Optimize(once.best, 20000);
  EXPECT_TRUE(twice.rewrites.empty()) << twice.rewrites[0].where;
  EXPECT_EQ(twice.best.StructuralHash(), once.best.StructuralHash());
}

// Folding replaces everything that is computed beforehand by constants.
TEST_P(RepeatableSearchTest, NorDoesItAfterFolding) {
  auto folded = FoldConstants(Optimize(Load(GetParam()), 5000).best);
  ASSERT_TRUE(folded.ok()) << folded.status();
  const SearchResult twice = Optimize(*folded, 5000);
  EXPECT_EQ(twice.best_cost.ns(), twice.initial_cost.ns());
}

class TwentyRunsTest : public testing::TestWithParam<const char*> {};

TEST_P(TwentyRunsTest, GiveOneResult) {
  const Graph graph = Load(GetParam());
  const SearchResult first = Optimize(graph, 1500);
  for (int run = 1; run < 20; ++run) {
    const SearchResult again = Optimize(graph, 1500);
    ASSERT_EQ(again.best.StructuralHash(), first.best.StructuralHash());
    ASSERT_EQ(again.steps, first.steps);
    ASSERT_EQ(again.rewrites.size(), first.rewrites.size());
    for (size_t i = 0; i < first.rewrites.size(); ++i) {
      ASSERT_EQ(again.rewrites[i].where, first.rewrites[i].where);
    }
  }
}

TEST_P(TwentyRunsTest, GiveOneResultForEachOrderOfTheRules) {
  const Graph graph = Load(GetParam());
  const SearchResult first = Optimize(graph, 1500);
  auto loaded = RuleSet::Load("data/rules/starter.txt");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::vector<Substitution> rules = (*loaded)->rules();
  std::mt19937 random(3);
  for (int order = 0; order < 3; ++order) {
    std::shuffle(rules.begin(), rules.end(), random);
    auto shuffled = RuleSet::Create(rules);
    ASSERT_TRUE(shuffled.ok()) << shuffled.status();
    const auto proved = Filtered(shuffled->get(), RewriteFilter());
    const SearchResult again = Optimize(graph, 1500, *proved);
    EXPECT_EQ(again.best_cost.ns(), first.best_cost.ns());
    EXPECT_EQ(again.best.StructuralHash(), first.best.StructuralHash());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TwentyRunsTest,
                         testing::Values("inception_v1", "squeezenet", "transformer"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Models, RepeatableSearchTest,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "resnet50",
                                         "squeezenet", "vgg19", "transformer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma::optimizer
