// Searches of models with thousands of operators: their work grows linearly, and parts are found.
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/checker.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/search/backtracking.h"
#include "optimizer/search/explorer.h"
#include "optimizer/search/partition.h"
#include "optimizer/search/rewrite_filter.h"
#include "tests/optimizer/transformer_text.h"

namespace lemma::optimizer {
namespace {

const RuleSet& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  return *rules;
}

Graph Transformer(int layers) {
  auto graph = ParseGraph(TransformerText({layers}));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

struct Work {
  int64_t nodes = 0, steps = 0;
};

// The work of finding all matches, descending to the end, and going back and forth.
Work WorkOfDescent(int layers) {
  auto costs = MakeAnalyticCostModel();
  KnownPlans plans;
  Workspace work(Transformer(layers),
                 std::make_shared<const RuleIndex>(Filtered(&Starter(), RewriteFilter())->Rules()),
                 costs.get(), &plans);
  SearchBudget budget(SearchLimits(), [](int64_t) { return true; });
  Explorer explorer(&work, &budget, 1.05);
  SearchState state{nullptr, work.graph().hash(), *work.Price()};
  EXPECT_TRUE(explorer.Descend(&state, true).ok());
  EXPECT_GE(LengthOf(state.path), 3 * layers);
  work.GoTo(nullptr);
  work.GoTo(state.path);
  EXPECT_EQ(work.graph().hash(), state.hash);
  return {work.work(), budget.steps()};
}

// Four times the layers are about four times the work; quadratic, they would be sixteen times.
TEST(SearchScaleTest, DescentIsLinear) {
  const Work small = WorkOfDescent(15), large = WorkOfDescent(60);  // 825 and 3300 operators
  EXPECT_LT(large.nodes, 5 * small.nodes) << small.nodes;
  EXPECT_LT(large.steps, 5 * small.steps) << small.steps;
}

// Trying a rewrite touches as many nodes in a long model as in a short one.
TEST(SearchScaleTest, TryingIsConstant) {
  auto costs = MakeAnalyticCostModel();
  double per_try[2];
  for (int layers : {4, 40}) {
    KnownPlans plans;
    Workspace work(Transformer(layers), std::make_shared<const RuleIndex>(Starter().Rules()),
                   costs.get(), &plans);
    const int64_t before = work.work();
    for (int m = 0; m < work.matches().size(); ++m) {
      ASSERT_TRUE(work.Try(*work.matches().matched(m), Rank(), Workspace::Ask::kRank).ok());
    }
    per_try[layers > 4] = static_cast<double>(work.work() - before) / work.matches().size();
  }
  EXPECT_NEAR(per_try[0], per_try[1], 0.2 * per_try[0]);
}

TEST(PartitionTest, FindsRepeatedLayers) {
  const Graph graph = Transformer(20);
  EditGraph edited(graph, {});
  const std::vector<Part> parts = Partition(edited);
  std::map<std::vector<uint64_t>, int> alike;
  int ops = 0;
  for (const Part& part : parts) {
    ++alike[part.key];
    ops += part.num_ops;
    EXPECT_GE(part.num_ops, PartitionOptions().min_ops);
    EXPECT_LE(part.num_ops, PartitionOptions().max_ops);
    // A part is a valid graph with few inputs and outputs.
    EditGraph part_graph(part.nodes, part.outputs, {});
    const Graph alone = part_graph.ToGraph();
    ASSERT_TRUE(CheckGraph(alone).ok()) << CheckGraph(alone);
    EXPECT_EQ(alone.nodes().size(), part.nodes.size());
    EXPECT_LE(alone.inputs().size(), 2u);
    EXPECT_LE(alone.outputs().size(), 2u);
  }
  // All operators but the transposed weights, six a layer.
  EXPECT_EQ(ops, graph.num_ops() - 6 * 20);
  EXPECT_LE(alike.size(), parts.size() / 2);
}

// A cost model that prices whole graphs only, as for a back end that fuses operators.
class WholeGraphs : public CostModel {
 public:
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    priced_ += graph.num_ops();
    return costs_->CostOf(graph);
  }
  std::string Describe() const override { return "whole graphs"; }
  int64_t priced() const { return priced_; }

 private:
  std::unique_ptr<CostModel> costs_ = MakeAnalyticCostModel();
  int64_t priced_ = 0;
};

// With such a cost model, the search does not price the whole of a large graph for each rewrite. It
// finds the same if there is no fusion to misjudge.
TEST(SearchScaleTest, EstimatesWhatSurroundsARewrite) {
  const Graph graph = Transformer(20);
  auto rules = Filtered(&Starter(), RewriteFilter());
  BacktrackingOptions options;
  options.limits.max_steps = 2000;
  auto sum = MakeAnalyticCostModel();
  WholeGraphs whole;
  auto expected = MakeBacktrackingSearch(rules.get(), sum.get(), options)->Run(graph, nullptr);
  auto result = MakeBacktrackingSearch(rules.get(), &whole, options)->Run(graph, nullptr);
  ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
  EXPECT_EQ(result->best_cost.ns(), expected->best_cost.ns());
  EXPECT_GT(result->steps, 1000);
  EXPECT_LT(whole.priced(), 100 * graph.num_ops());
}

// 10,010 operators.
TEST(SearchScaleTest, OptimizesTenThousandOperators) {
  const Graph graph = Transformer(182);
  ASSERT_GE(graph.num_ops(), 10000);
  auto rules = Filtered(&Starter(), RewriteFilter());
  auto costs = MakeAnalyticCostModel();
  BacktrackingOptions options;
  options.limits.max_steps = 20000;
  auto result = MakeBacktrackingSearch(rules.get(), costs.get(), options)->Run(graph, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(CheckGraph(result->best).ok());
  EXPECT_TRUE(CheckSameInterface(graph, result->best).ok());
  EXPECT_LT(result->best_cost.ns(), result->initial_cost.ns() * 8 / 10);
  EXPECT_GE(result->rewrites.size(), 3u * 182);
  EXPECT_EQ(result->rewrites.back().after, result->best.StructuralHash());
}

}  // namespace
}  // namespace lemma::optimizer
