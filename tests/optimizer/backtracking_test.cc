#include "optimizer/search/backtracking.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/search/certificate.h"
#include "optimizer/search/pareto_front.h"
#include "optimizer/search/rewrite_filter.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/parse_testutil.h"

namespace lemma::optimizer {
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
// A detour: neither rewrite pays off alone unless abs is cheap.
constexpr char kDetour[] =
    "rule up(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n c = exp(b)\n return c "
    "}\n"
    "rule down(x: [n]) real_only { a = abs(x)\n b = exp(a)\n return b } => "
    "{ c = neg(x)\n return c }\n";

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
  auto rules = RuleSetOf(kRelu);
  PriceList costs({});
  SearchResult result = Optimize(ChainOf("relu", 200), *rules, &costs, {{10, 0}, 1.05});
  EXPECT_EQ(result.best.num_ops(), 1);
  EXPECT_EQ(result.rewrites.size(), 199u);
  EXPECT_EQ(result.best_cost.ns(), 100);
  EXPECT_EQ(result.initial_cost.ns(), 20000);
  EXPECT_EQ(result.certain_cost.ns(), costs.CostOf(result.certain)->ns());
  EXPECT_EQ(result.descended_cost.ns(), costs.CostOf(result.descended)->ns());
}

TEST(BacktrackingTest, CrossesAHillBelowTheThreshold) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 50}});
  Graph g = ChainOf("exp", 1);
  EXPECT_EQ(Optimize(g, *rules, &costs, {{100, 0}, 1.05}).best_cost.ns(), 50);
  EXPECT_EQ(Optimize(g, *rules, &costs, {{100, 0}, 1.02}).best_cost.ns(), 100);
}

TEST(BacktrackingTest, CrossesTheSameHillEverywhereAtOnce) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 50}});
  SearchResult result = Optimize(ChainOf("exp", 30), *rules, &costs, {{2000, 0}, 1.05});
  EXPECT_EQ(result.best_cost.ns(), 30 * 50);
}

// The rules of `text`; those from number `late` on are late.
std::unique_ptr<RuleSet> RulesWithLate(const std::string& text, size_t late) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  RuleSetOptions options;
  options.late = {late, rules->size()};
  return *RuleSet::Create(*rules, options);
}

// Late rules are used when the others lead no further, however small the budget is for the descent.
TEST(BacktrackingTest, LateRulesImproveTheResultOfTheOthers) {
  const std::string late =
      "rule to_abs(x: [n]) real_only { a = relu(x)\n return a } => { b = abs(x)\n return b }\n";
  PriceList costs({{"abs", 10}});
  const Graph graph = ChainOf("relu", 5);
  auto rules = RulesWithLate(absl::StrCat(kRelu, late), 1);
  BacktrackingOptions descend_only;
  descend_only.descend_only = true;
  const SearchResult result = Optimize(graph, *rules, &costs, descend_only);
  EXPECT_EQ(result.best_cost.ns(), 10);
  ASSERT_EQ(result.rewrites.size(), 5u);
  EXPECT_EQ(result.rewrites.back().name, "to_abs");
  EXPECT_EQ(result.descended_rewrites.size(), 4u) << "of the others alone";
}

// Late rules that lead to many graphs do not use up the budget that the others need.
TEST(BacktrackingTest, LateRulesDoNotTakeTheBudget) {
  const std::string many =
      "rule more(x: [n]) real_only { a = exp(x)\n return a } => "
      "{ b = tanh(x)\n c = exp(b)\n return c }\n"
      "rule most(x: [n]) real_only { a = exp(x)\n return a } => "
      "{ b = sigmoid(x)\n c = exp(b)\n return c }\n";
  PriceList costs({{"abs", 3}, {"neg", 50}, {"tanh", 0}, {"sigmoid", 0}});
  const Graph graph = ChainOf("exp", 6);
  auto best = [&](const RuleSet& rules, int64_t budget) {
    return Optimize(graph, rules, &costs, {{budget, 0}, 1.05}).best_cost.ns();
  };
  int64_t budget = 1;
  while (budget < 200 && best(*RuleSetOf(kDetour), budget) > 6 * 50) ++budget;
  ASSERT_LT(budget, 200);
  EXPECT_GT(best(*RuleSetOf(absl::StrCat(many, kDetour)), budget), 6 * 50)
      << "if they are not late";
  EXPECT_EQ(best(*RulesWithLate(absl::StrCat(kDetour, many), 2), budget), 6 * 50);
}

// The node that the first rewrite makes has the last number in the search, but comes first in the
// graph.
TEST(BacktrackingTest, StepsWithSiblingsInAnotherOrderCanBeRepeated) {
  const std::string text =
      "rule sum(x: [m,k], a: [k,n], b: [k,n]) reassociates { p = matmul(x, a)\n q = matmul(x, b)\n"
      " s = add(p, q)\n return s } => { c = add(a, b)\n s = matmul(x, c)\n return s }\n"
      "rule merge(x: [m,k], a: [k,n], b: [k,l]) reassociates { p = matmul(x, a)\n q = matmul(x, "
      "b)\n"
      " return p, q } => { w = concat(a, b) {axis = 1}\n y = matmul(x, w)\n"
      " p, q = split(y) {axis = 1, sizes = [n, l]}\n return p, q }\n";
  auto rules = RuleSetOf(text);
  PriceList costs({{"concat", 1}, {"split", 1}, {"add", 1}});
  const Graph graph = Parse(
      "graph g(x: f32[2,3], a: f32[3,4], b: f32[3,4], c: f32[3,4]) {\n"
      "r = matmul(x, c)\n p = matmul(x, a)\n q = matmul(x, b)\n s = add(p, q)\n return s, r }");
  SearchResult result = Optimize(graph, *rules, &costs);
  EXPECT_LT(result.best_cost.ns(), 110);
  auto certificate =
      Certify(graph, result.rewrites, result.best, rules->rules(), Certificate::Result::kBest);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  auto replayed = Replay(*certificate, graph, rules->rules());
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->graph.StructuralHash(), result.best.StructuralHash());
}

// The target's first node equals the node to be replaced.
TEST(BacktrackingTest, ARuleThatMakesItsSourceAgainEnds) {
  auto rules = RuleSetOf(
      "rule grow(x: [n]) bit_exact { a = relu(x)\n return a } => "
      "{ b = relu(x)\n c = relu(b)\n return c }\n");
  PriceList costs({});
  SearchResult result = Optimize(ChainOf("relu", 3), *rules, &costs, {{100, 0}, 10});
  EXPECT_EQ(result.best_cost.ns(), 300);
}

TEST(BacktrackingTest, ReportsTheStepsThatLedThere) {
  auto rules = RuleSetOf(kRelu);
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
  auto rules = RuleSetOf(kRelu);
  PriceList costs({});
  BacktrackingOptions options;
  EXPECT_FALSE(Optimize(ChainOf("relu", 3), *rules, &costs, options).rewrites[0].cost.has_value());
  options.price_steps = true;
  SearchResult result = Optimize(ChainOf("relu", 3), *rules, &costs, options);
  ASSERT_EQ(result.rewrites.size(), 2u);
  EXPECT_EQ(result.rewrites[0].cost->ns(), 200);
  EXPECT_EQ(result.rewrites[1].cost->ns(), 100);
  EXPECT_FALSE(result.rewrites[0].change.has_value()) << "the model lists no kernels";
}

TEST(BacktrackingTest, ReturnsTheInputWhenNothingPays) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs({});
  Graph g = ChainOf("exp", 4);
  SearchResult result = Optimize(g, *rules, &costs);
  EXPECT_EQ(result.best.StructuralHash(), g.StructuralHash());
  EXPECT_TRUE(result.rewrites.empty());
}

TEST(BacktrackingTest, IsRepeatable) {
  auto rules = RuleSetOf(absl::StrCat(kRelu, kDetour));
  PriceList costs({{"abs", 3}, {"neg", 98}});
  Graph g = ChainOf("exp", 12);
  SearchResult a = Optimize(g, *rules, &costs, {{150, 0}, 1.05});
  SearchResult b = Optimize(g, *rules, &costs, {{150, 0}, 1.05});
  EXPECT_EQ(a.best.StructuralHash(), b.best.StructuralHash());
  EXPECT_EQ(a.steps, b.steps);
}

TEST(BacktrackingTest, KeepsToItsLimits) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs({{"abs", 3}, {"neg", 98}});
  SearchResult result = Optimize(ChainOf("exp", 20), *rules, &costs, {{40, 0}, 1.5});
  EXPECT_EQ(result.stop, StopReason::kSteps);
  EXPECT_LE(result.steps, 41);
  int calls = 0;
  auto stop_soon = [&](const SearchProgress&) { return ++calls < 5; };
  result = Optimize(ChainOf("exp", 20), *rules, &costs, {{4000, 0}, 1.5}, stop_soon);
  EXPECT_EQ(result.stop, StopReason::kCancelled);
}

TEST(RewriteFilterTest, HonorsContractAndNames) {
  auto rules = RuleSetOf(absl::StrCat(kRelu, kDetour));
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

  // Rules without a record are not used, whatever the caller has checked.
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

// Rewrites go on around fixed nodes, also after their operands have changed.
TEST(BacktrackingTest, LeavesFixedNodesAsTheyAre) {
  const Graph g = Parse(
      "graph g(x: f32[4]) { a = relu(x)\n b = relu(a)\n c = exp(b)\n d = relu(c)\n e = relu(d)\n"
      " f = relu(e)\n return f }");
  auto fixed = std::make_shared<FixedNodes>();
  for (const NodePtr& node : g.nodes()) {
    if (g.LabelOf(Value(node, 0)) == "d" || g.LabelOf(Value(node, 0)) == "e") {
      fixed->insert(node.get());
    }
  }
  PriceList costs({});
  auto all = RuleSet::Create(*ParseRules(kRelu)),
       around = RuleSet::Create(*ParseRules(kRelu), {fixed});
  ASSERT_TRUE(all.ok() && around.ok());
  EXPECT_EQ(Optimize(g, **all, &costs).best.num_ops(), 3);
  EXPECT_EQ(Optimize(g, **around, &costs).best.num_ops(), 5);
}

// ---- Time and memory ----

// A price list for time, live values for memory.
class PricesAndPeaks : public PriceList {
 public:
  using PriceList::PriceList;
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    auto cost = PriceList::CostOf(graph);
    return cost->WithPeak(PeakLiveBytes(graph));
  }
};

// Fast and wide, or slow and narrow.
constexpr char kWiden[] =
    "rule widen(x: [n]) real_only { a = relu(x)\n return a } => "
    "{ b = concat(x, x) {axis = 0}\n c = abs(b)\n d, e = split(c) {axis = 0, sizes = [n, n]}\n "
    "return d }\n";
constexpr char kNarrow[] =
    "rule narrow(x: [n]) real_only { b = concat(x, x) {axis = 0}\n c = abs(b)\n "
    "d, e = split(c) {axis = 0, sizes = [n, n]}\n return d } => { a = relu(x)\n return a }\n";

// relu on a large value, at the peak, and on a small one.
Graph LargeAndSmall() {
  return Parse(R"(graph g(x: f32[1000], y: f32[10]) {
    a = relu(x) s = reduce_sum(a) {axes = [0], keepdims = 1} b = relu(y) c = add(s, b)
    return c })");
}

SearchResult For(const Objective& objective, const Graph& graph, const std::string& rules,
                 int64_t steps = 300) {
  PricesAndPeaks costs({{"abs", 3}, {"concat", 1}, {"split", 1}});
  BacktrackingOptions options;
  options.limits.max_steps = steps;
  options.objective = objective;
  return Optimize(graph, *RuleSetOf(rules), &costs, options);
}

// "305 ns, 8040 bytes".
std::string Text(const Cost& cost) {
  return absl::StrCat(cost.ns(), " ns, ", cost.peak_bytes(), " bytes");
}

using Goal = Objective::Goal;

TEST(ObjectiveTest, TimeAndMemoryDisagree) {
  const Graph graph = LargeAndSmall();
  EXPECT_EQ(Text(For({Goal::kTime}, graph, kWiden).initial_cost), "400 ns, 8040 bytes");
  EXPECT_EQ(Text(For({Goal::kTime}, graph, kWiden).best_cost), "210 ns, 16040 bytes");
  // The fastest among the graphs of the least peak.
  EXPECT_EQ(Text(For({Goal::kMemory}, graph, kWiden).best_cost), "305 ns, 8040 bytes");
}

TEST(ObjectiveTest, MemoryIsWorthTime) {
  const Graph wide = For({Goal::kTime}, LargeAndSmall(), kWiden).best;
  EXPECT_EQ(Text(For({Goal::kMemory}, wide, kNarrow).best_cost), "305 ns, 8040 bytes");
  EXPECT_TRUE(For({Goal::kTime}, wide, kNarrow).rewrites.empty());
}

TEST(ObjectiveTest, ALimitIsKept) {
  const Graph graph = LargeAndSmall();
  EXPECT_EQ(Text(For({Goal::kTime, 16039}, graph, kWiden).best_cost), "305 ns, 8040 bytes");
  EXPECT_EQ(Text(For({Goal::kTime, 16040}, graph, kWiden).best_cost), "210 ns, 16040 bytes");
  // A graph above the limit comes as near to it as it can.
  const Graph wide = For({Goal::kTime}, graph, kWiden).best;
  EXPECT_EQ(Text(For({Goal::kTime, 1000}, wide, kNarrow).best_cost), "305 ns, 8040 bytes");
}

TEST(ObjectiveTest, TheProductWeighsThem) {
  const Graph graph = LargeAndSmall();
  EXPECT_EQ(Text(For({Goal::kProduct, 0, 0.1}, graph, kWiden).best_cost), "210 ns, 16040 bytes");
  EXPECT_EQ(Text(For({Goal::kProduct, 0, 0.9}, graph, kWiden).best_cost), "305 ns, 8040 bytes");
}

TEST(ObjectiveTest, TheFrontHasBothEnds) {
  auto front = [](const SearchResult& result) {
    std::string text;
    for (const FrontPoint& point : result.front) {
      absl::StrAppend(&text, point.is_best ? "* " : "", Text(point.cost), "; ");
    }
    return text;
  };
  const Graph graph = LargeAndSmall();
  const SearchResult light = For({Goal::kPareto, 0, 0.1}, graph, kWiden);
  EXPECT_EQ(front(light), "* 210 ns, 16040 bytes; 305 ns, 8040 bytes; ");
  EXPECT_EQ(Text(light.best_cost), "210 ns, 16040 bytes");
  const SearchResult heavy = For({Goal::kPareto, 0, 0.9}, graph, kWiden);
  EXPECT_EQ(front(heavy), "210 ns, 16040 bytes; * 305 ns, 8040 bytes; ");
  EXPECT_EQ(Text(heavy.best_cost), "305 ns, 8040 bytes");
  EXPECT_EQ(heavy.best.StructuralHash(), heavy.rewrites.back().after);
  EXPECT_EQ(front(For({Goal::kPareto, 10000, 0.1}, graph, kWiden)),
            "210 ns, 16040 bytes; * 305 ns, 8040 bytes; ");
  EXPECT_TRUE(For({Goal::kTime}, graph, kWiden).front.empty());
}

// A graph of several parts; each objective gets a third of the steps.
TEST(ObjectiveTest, LargeGraphsKeepToTheSteps) {
  std::string text = "graph g(x0: f32[100]) {\n";
  for (int i = 0; i < 150; ++i) {
    absl::StrAppend(&text, "a", i, " = relu(x", i, ")\n x", i + 1, " = neg(a", i, ")\n");
  }
  const Graph graph = Parse(text + "return x150 }");
  const SearchResult result = For({Goal::kPareto}, graph, kWiden);
  EXPECT_EQ(result.front.front().cost.ns(), 150 * 105);
  EXPECT_EQ(result.front.back().cost.peak_bytes(), 800);
  EXPECT_EQ(result.front.size(), 2u);
}

// Every layer has the same peak, so it falls only when all layers are narrow. The steps are too few
// to find this without parts.
TEST(ObjectiveTest, APeakThatLayersShareGoesDownInAll) {
  for (int layers : {3, 120}) {
    std::string text = "graph g(x0: f32[100]) {\n";
    for (int i = 0; i < layers; ++i) {
      absl::StrAppend(&text, "b", i, " = concat(x", i, ", x", i, ") {axis = 0}\n c", i, " = abs(b",
                      i, ")\n d", i, ", e", i, " = split(c", i,
                      ") {axis = 0, sizes = [100, 100]}\n x", i + 1,
                      2 * i < layers ? " = neg(d" : " = sin(d", i, ")\n");
    }
    const Graph graph = Parse(absl::StrCat(text, "return x", layers, " }"));
    const SearchResult result = For({Goal::kMemory}, graph, kNarrow, 530);
    EXPECT_EQ(result.initial_cost.peak_bytes(), 1600);
    EXPECT_EQ(Text(result.best_cost), absl::StrCat(200 * layers, " ns, 800 bytes"));
  }
}

TEST(ObjectiveTest, TheFrontIsWhatNoOtherBeats) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    ParetoFront front;
    std::vector<Rank> all;
    for (int i = 0; i < 12; ++i) {
      Rank rank = Rank::OfTime(random() % 6, static_cast<int>(random() % 2));
      rank.peak_bytes = random() % 6;
      all.push_back(rank);
      front.Offer(rank, [] { return nullptr; });
    }
    std::set<std::pair<int64_t, int64_t>> expected, found;
    for (const Rank& a : all) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const Rank& b) {
        return b.ns <= a.ns && b.peak_bytes <= a.peak_bytes &&
               (b.ns < a.ns || b.peak_bytes < a.peak_bytes);
      });
      if (!beaten) expected.emplace(a.ns, a.peak_bytes);
    }
    for (const auto& [ns, point] : front.points()) found.emplace(ns, point.rank.peak_bytes);
    EXPECT_EQ(found, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace lemma::optimizer
