// Every strategy of the table, on a real model and a small one.
#include "optimizer/strategies/strategies.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/search/rewrite_filter.h"

namespace lemma::optimizer {
namespace {

const RewriteSource& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  static const RewriteSource* proved = Filtered(rules, RewriteFilter()).release();
  return *proved;
}

class StrategiesTest : public testing::TestWithParam<Strategy> {
 protected:
  SearchResult Search(const Graph& graph, const Objective& objective = {}) {
    auto costs = MakeAnalyticCostModel();
    StrategyOptions options;
    options.search.limits.max_steps = 100;
    options.search.objective = objective;
    options.max_nodes = 400;
    auto result = GetParam().make(&Starter(), costs.get(), options)->Run(graph, nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }
};

// Each step of a result begins with the graph in which the step before it ends.
void ExpectSteps(const Graph& graph, const SearchResult& result) {
  ASSERT_FALSE(result.rewrites.empty());
  EXPECT_EQ(result.rewrites.front().before, graph.StructuralHash());
  for (size_t i = 1; i < result.rewrites.size(); ++i) {
    EXPECT_EQ(result.rewrites[i].before, result.rewrites[i - 1].after);
  }
  EXPECT_EQ(result.rewrites.back().after, result.best.StructuralHash());
}

TEST_P(StrategiesTest, FindsTheSameEachTime) {
  auto model = ImportOnnx("data/models/light/light_squeezenet.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  const SearchResult first = Search(model->graph), second = Search(model->graph);
  EXPECT_LT(first.best_cost.ns(), first.initial_cost.ns());
  ExpectSteps(model->graph, first);
  EXPECT_EQ(first.best.StructuralHash(), second.best.StructuralHash());
  EXPECT_EQ(first.steps, second.steps);
}

TEST_P(StrategiesTest, TakesTheObjectivesThatItKnows) {
  auto graph = ParseGraph("graph g(x: f32[64,64]) { a = relu(x) b = relu(a) c = neg(b) return c }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Search(*graph).best.num_ops(), 2);
  if (!GetParam().knows_memory) return;
  Objective memory;
  memory.goal = Objective::Goal::kMemory;
  EXPECT_EQ(Search(*graph, memory).best.num_ops(), 2);
}

INSTANTIATE_TEST_SUITE_P(Table, StrategiesTest, testing::ValuesIn(Strategies()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DescentTest, EndsWhereTheFirstDescentOfBacktrackingDoes) {
  auto model = ImportOnnx("data/models/light/light_squeezenet.onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  auto search = [&](absl::string_view name) {
    auto costs = MakeAnalyticCostModel();
    StrategyOptions options;
    options.search.limits.max_steps = 50;
    return *FindStrategy(name)->make(&Starter(), costs.get(), options)->Run(model->graph, nullptr);
  };
  const SearchResult descent = search("descent"), backtracking = search("backtracking");
  EXPECT_EQ(descent.best.StructuralHash(), backtracking.descended.StructuralHash());
  EXPECT_LT(descent.steps, backtracking.steps);
}

TEST(StrategiesTableTest, NamesAreFoundAndUnique) {
  for (const Strategy& strategy : Strategies()) {
    EXPECT_EQ(FindStrategy(strategy.name), &strategy);
    EXPECT_FALSE(absl::EndsWith(strategy.help, ".")) << strategy.help;
  }
  EXPECT_EQ(FindStrategy("luck"), nullptr);
  EXPECT_STREQ(Strategies().front().name, "backtracking");
}

}  // namespace
}  // namespace lemma::optimizer
