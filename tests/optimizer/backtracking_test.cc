#include "optimizer/backtracking.h"

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "optimizer/rewrite_filter.h"
#include "rewrite/proof_check.h"
#include "rewrite/rule_text.h"

namespace lemma {
namespace {

// A price per operator, in nanoseconds; 100 for those that are not named.
class PriceList : public CostModel {
 public:
  explicit PriceList(std::map<std::string, int> prices) : prices_(std::move(prices)) {}
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    Cost total;
    for (const NodePtr& node : graph.nodes()) {
      if (!node->is_op()) continue;
      auto price = prices_.find(node->op().name);
      total += Cost::Nanoseconds(price == prices_.end() ? 100 : price->second);
    }
    return total;
  }
  std::string Describe() const override { return "a price list"; }

 private:
  std::map<std::string, int> prices_;
};

constexpr char kRelu[] =
    "rule relu_twice(x: [n]) bit_exact { a = relu(x)\n b = relu(a)\n return b } => "
    "{ c = relu(x)\n return c }\n";
// Up, then down: neither pays alone unless abs is cheap.
constexpr char kDetour[] =
    "rule up(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n c = exp(b)\n return c "
    "}\n"
    "rule down(x: [n]) real_only { a = abs(x)\n b = exp(a)\n return b } => "
    "{ c = neg(x)\n return c }\n";

std::unique_ptr<RuleSet> Rules(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  auto set = RuleSet::Create(*std::move(rules));
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

SearchResult Optimize(const Graph& graph, const RewriteSource& rules, CostModel* costs,
                      const BacktrackingOptions& options = {},
                      const Search::OnProgress& progress = nullptr) {
  auto result = MakeBacktrackingSearch(&rules, costs, options)->Run(graph, progress);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// x -> op -> op -> … , `n` times.
Graph ChainOf(const std::string& op, int n) {
  std::string text = "graph chain(x0: f32[4]) {\n";
  for (int i = 0; i < n; ++i) absl::StrAppend(&text, "x", i + 1, " = ", op, "(x", i, ")\n");
  return Parse(absl::StrCat(text, "return x", n, " }"));
}

TEST(BacktrackingTest, DescendsThroughALongModel) {
  auto rules = Rules(kRelu);
  PriceList costs({});
  SearchResult result = Optimize(ChainOf("relu", 200), *rules, &costs, {{10, 0}, 1.05});
  EXPECT_EQ(result.best.num_ops(), 1);
  EXPECT_EQ(result.rewrites.size(), 199u);
  EXPECT_EQ(result.best_cost.ns(), 100);
  EXPECT_EQ(result.initial_cost.ns(), 20000);
}

TEST(BacktrackingTest, CrossesAHillBelowTheThreshold) {
  auto rules = Rules(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 50}});
  Graph g = ChainOf("exp", 1);
  EXPECT_EQ(Optimize(g, *rules, &costs, {{100, 0}, 1.05}).best_cost.ns(), 50);
  EXPECT_EQ(Optimize(g, *rules, &costs, {{100, 0}, 1.02}).best_cost.ns(), 100);
}

TEST(BacktrackingTest, CrossesTheSameHillEverywhereAtOnce) {
  auto rules = Rules(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 50}});
  SearchResult result = Optimize(ChainOf("exp", 30), *rules, &costs, {{2000, 0}, 1.05});
  EXPECT_EQ(result.best_cost.ns(), 30 * 50);
}

TEST(BacktrackingTest, ReportsTheStepsThatLedThere) {
  auto rules = Rules(kRelu);
  PriceList costs({});
  Graph g = ChainOf("relu", 3);
  SearchResult result = Optimize(g, *rules, &costs);
  ASSERT_EQ(result.rewrites.size(), 2u);
  EXPECT_EQ(result.rewrites[0].name, "relu_twice");
  EXPECT_EQ(result.rewrites[0].before, g.StructuralHash());
  EXPECT_EQ(result.rewrites[0].after, result.rewrites[1].before);
  EXPECT_EQ(result.rewrites[1].after, result.best.StructuralHash());
  EXPECT_EQ(result.stop, StopReason::kExhausted);
}

TEST(BacktrackingTest, PricesStepsIfAsked) {
  auto rules = Rules(kRelu);
  PriceList costs({});
  BacktrackingOptions options;
  EXPECT_FALSE(Optimize(ChainOf("relu", 3), *rules, &costs, options).rewrites[0].cost.has_value());
  options.price_steps = true;
  SearchResult result = Optimize(ChainOf("relu", 3), *rules, &costs, options);
  ASSERT_EQ(result.rewrites.size(), 2u);
  EXPECT_EQ(result.rewrites[0].cost->ns(), 200);
  EXPECT_EQ(result.rewrites[1].cost->ns(), 100);
}

TEST(BacktrackingTest, ReturnsTheInputWhenNothingPays) {
  auto rules = Rules(kDetour);
  PriceList costs({});
  Graph g = ChainOf("exp", 4);
  SearchResult result = Optimize(g, *rules, &costs);
  EXPECT_EQ(result.best.StructuralHash(), g.StructuralHash());
  EXPECT_TRUE(result.rewrites.empty());
}

TEST(BacktrackingTest, IsRepeatable) {
  auto rules = Rules(absl::StrCat(kRelu, kDetour));
  PriceList costs({{"abs", 3}, {"neg", 98}});
  Graph g = ChainOf("exp", 12);
  SearchResult a = Optimize(g, *rules, &costs, {{150, 0}, 1.05});
  SearchResult b = Optimize(g, *rules, &costs, {{150, 0}, 1.05});
  EXPECT_EQ(a.best.StructuralHash(), b.best.StructuralHash());
  EXPECT_EQ(a.steps, b.steps);
}

TEST(BacktrackingTest, KeepsToItsLimits) {
  auto rules = Rules(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 98}});
  SearchResult result = Optimize(ChainOf("exp", 20), *rules, &costs, {{40, 0}, 1.5});
  EXPECT_EQ(result.stop, StopReason::kSteps);
  EXPECT_LE(result.steps, 41);
  int calls = 0;
  auto stop_soon = [&](const SearchProgress&) { return ++calls < 5; };
  result = Optimize(ChainOf("exp", 20), *rules, &costs, {{4000, 0}, 1.5}, stop_soon);
  EXPECT_EQ(result.stop, StopReason::kCancelled);
}

TEST(RewriteFilterTest, HonoursContractAndNames) {
  auto rules = Rules(absl::StrCat(kRelu, kDetour));
  PriceList costs({{"abs", 3}, {"neg", 50}});
  Graph g = Parse("graph g(x: f32[4]) { a = relu(x)\n b = relu(a)\n c = exp(b)\n return c }");
  auto cost = [&](RewriteFilter filter) {
    filter.allow_unproved = true;
    return Optimize(g, *Filtered(rules.get(), filter), &costs).best_cost.ns();
  };
  EXPECT_EQ(cost({FloatContract::kBitExact, {}, {}}), 200);
  EXPECT_EQ(cost({FloatContract::kRealOnly, {}, {}}), 150);
  EXPECT_EQ(cost({FloatContract::kRealOnly, {"relu_twice"}, {}}), 250);
  EXPECT_EQ(cost({FloatContract::kRealOnly, {}, {"relu_twice"}}), 200);
}

TEST(RewriteFilterTest, RefusesWhatIsNotProved) {
  auto parsed = ParseRules(absl::StrCat(kRelu, kDetour));
  ASSERT_TRUE(parsed.ok());
  std::vector<Substitution> rules = *std::move(parsed);
  RewriteFilter filter;
  filter.numerics = FloatContract::kRealOnly;
  auto names = [&] {
    std::string text;
    for (const UnprovedRule& rule : UnprovedRules(rules, filter)) text += rule.name + " ";
    return text;
  };
  EXPECT_EQ(names(), "relu_twice up down ");
  rules[0].proof = {ProofRecord::Verdict::kProved, FloatContract::kBitExact,
                    CurrentProofId(rules[0]), ""};
  EXPECT_EQ(names(), "up down ");
  filter.disabled = {"up"};
  EXPECT_EQ(names(), "down ");
  filter.numerics = FloatContract::kReassociates;
  EXPECT_EQ(names(), "");

  // Without a record nothing is used, whatever the caller has checked.
  PriceList costs({{"abs", 3}, {"neg", 50}});
  Graph g = Parse("graph g(x: f32[4]) { a = relu(x)\n b = relu(a)\n c = exp(b)\n return c }");
  auto set = RuleSet::Create(rules);
  ASSERT_TRUE(set.ok());
  filter.numerics = FloatContract::kRealOnly;
  filter.disabled.clear();
  EXPECT_EQ(Optimize(g, *Filtered(set->get(), filter), &costs).best_cost.ns(), 200);
  filter.allow_unproved = true;
  EXPECT_EQ(Optimize(g, *Filtered(set->get(), filter), &costs).best_cost.ns(), 150);
}

}  // namespace
}  // namespace lemma
