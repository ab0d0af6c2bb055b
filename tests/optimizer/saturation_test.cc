#include "optimizer/extraction/saturation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/checker.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/folding/constant_folding.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/parse_testutil.h"

namespace lemma::optimizer {
namespace {

constexpr double kInfinite = 1e30;

// A price per operator, in nanoseconds; 100 for those that are not named.
class PriceList : public CostModel {
 public:
  explicit PriceList(std::map<std::string, double> prices) : prices_(std::move(prices)) {}
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    const auto folded = FoldableNodes(graph);
    Cost total;
    for (const NodePtr& node : graph.nodes()) {
      if (node->is_op() && !folded.contains(node.get())) total += PriceOf(*node);
    }
    return total;
  }
  std::optional<Cost> CostOfOperator(const Node& node) override { return PriceOf(node); }
  std::string Describe() const override { return "a price list"; }

 private:
  Cost PriceOf(const Node& node) const {
    auto price = prices_.find(node.op().name);
    return Cost::Nanoseconds(price == prices_.end() ? 100 : price->second);
  }
  std::map<std::string, double> prices_;
};

// The same, but it is no sum: a relu of an add costs nothing more.
class FusingPrices : public PriceList {
 public:
  using PriceList::PriceList;
  absl::StatusOr<Cost> CostOf(const Graph& graph) override {
    auto cost = PriceList::CostOf(graph);
    double saved = 0;
    for (const NodePtr& node : graph.nodes()) {
      if (node->IsOp("relu") && node->inputs()[0].node().IsOp("add")) saved += 100;
    }
    return Cost::Nanoseconds(static_cast<double>(cost->ns()) - saved);
  }
  std::optional<Cost> CostOfOperator(const Node&) override { return std::nullopt; }
};

SaturationOptions Options(int max_nodes = 6000) {
  SaturationOptions options;
  options.first.descend_only = true;
  options.max_nodes = max_nodes;
  return options;
}

// Properties of every result.
void ExpectIsRight(const Graph& graph, const SearchResult& result, CostModel* costs) {
  EXPECT_TRUE(CheckGraph(result.best).ok()) << CheckGraph(result.best);
  EXPECT_TRUE(CheckSameInterface(graph, result.best).ok());
  EXPECT_EQ(costs->CostOf(result.best)->ns(), result.best_cost.ns());
  EXPECT_EQ(costs->CostOf(graph)->ns(), result.initial_cost.ns());
  EXPECT_LE(result.best_cost.ns(), costs->CostOf(result.descended)->ns());
  uint64_t hash = graph.StructuralHash();
  for (const RewriteStep& step : result.rewrites) {
    EXPECT_EQ(step.before, hash);
    hash = step.after;
  }
  EXPECT_EQ(hash, result.best.StructuralHash());
  if (result.bound) {
    EXPECT_LE(result.bound->cost.ns(), result.best_cost.ns());
  }
}

SearchResult Saturate(const Graph& graph, const RewriteSource& rules, CostModel* costs,
                      const SaturationOptions& options = Options(),
                      const Search::OnProgress& progress = nullptr) {
  auto result = MakeSaturationSearch(&rules, costs, options)->Run(graph, progress);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  ExpectIsRight(graph, *result, costs);
  return *std::move(result);
}

// Expensive at first, cheap in the end.
constexpr char kDetour[] =
    "rule up(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n c = tanh(b)\n return c "
    "}\n"
    "rule down(x: [n]) real_only { a = abs(x)\n b = tanh(a)\n return b } => "
    "{ c = neg(x)\n return c }\n";
const std::map<std::string, double> kDetourPrices = {{"abs", 5000}, {"neg", 50}};

// x -> op -> op -> … , `n` times.
Graph ChainOf(const std::string& op, int n) {
  std::string text = "graph chain(x0: f32[4]) {\n";
  for (int i = 0; i < n; ++i) absl::StrAppend(&text, "x", i + 1, " = ", op, "(x", i, ")\n");
  return Parse(absl::StrCat(text, "return x", n, " }"));
}

TEST(SaturationTest, CrossesAnyHill) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs(kDetourPrices);
  for (int n : {1, 30}) {
    const SearchResult result = Saturate(ChainOf("exp", n), *rules, &costs);
    EXPECT_EQ(result.descended_rewrites.size(), 0u);
    EXPECT_EQ(result.best_cost.ns(), 50 * n);
    EXPECT_EQ(result.rewrites.size(), 2u * n);
    ASSERT_TRUE(result.bound);
    EXPECT_TRUE(result.bound->is_proved);
    EXPECT_TRUE(result.bound->covers_all_graphs);
    EXPECT_GE(result.bound->cost.ns(), 50 * n - 1);
    EXPECT_EQ(result.stop, StopReason::kExhausted);
  }
}

TEST(SaturationTest, ComesOutTheSameAgain) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs(kDetourPrices);
  const Graph graph = ChainOf("exp", 12);
  const SearchResult a = Saturate(graph, *rules, &costs), b = Saturate(graph, *rules, &costs);
  EXPECT_EQ(a.best.StructuralHash(), b.best.StructuralHash());
  EXPECT_EQ(a.steps, b.steps);
  ASSERT_EQ(a.rewrites.size(), b.rewrites.size());
  for (size_t i = 0; i < a.rewrites.size(); ++i) {
    EXPECT_EQ(a.rewrites[i].where, b.rewrites[i].where);
  }
  EXPECT_EQ(a.bound->cost.ns(), b.bound->cost.ns());
}

// A rewrite on the way is applied, also if the operands come in another order.
TEST(SaturationTest, GoesThereByTheOperandsThatItMeans) {
  auto rules = RuleSetOf(
      "rule associate(x: [n], y: [n], z: [n]) reassociates { a = add(x, y)\n b = add(a, z)\n"
      "return b } => { c = add(y, z)\n d = add(x, c)\n return d }\n"
      "rule cancel(x: [n]) real_only { a = neg(x)\n b = add(x, a)\n return b } => "
      "{ z = constant [n] fill 0.0\n return z }\n"
      "rule nothing(x: [n]) real_only { z = constant [n] fill 0.0\n a = add(x, z)\n return a } => "
      "{ return x }\n");
  PriceList costs({});
  for (const char* sum : {"add(x, y)", "add(y, x)"}) {
    for (const char* all : {"add(a, b)", "add(b, a)"}) {
      const Graph graph = Parse(absl::StrCat("graph g(x: f32[4], y: f32[4]) { a = ", sum,
                                             " b = neg(y) c = ", all, " d = exp(c) return d }"));
      EXPECT_EQ(Saturate(graph, *rules, &costs).best_cost.ns(), 100) << sum << ", " << all;
    }
  }
}

// Both rewrites are found; applying one removes the other one's match.
TEST(SaturationTest, StaysRightWhereTwoRewritesAreInEachOthersWay) {
  auto rules = RuleSetOf(
      "rule first(x: [n]) real_only { a = exp(x)\n b = abs(x)\n return a, b } => "
      "{ c = tanh(x)\n d = neg(c)\n e = relu(c)\n return d, e }\n"
      "rule second(x: [n]) real_only { a = abs(x)\n b = sigmoid(x)\n return a, b } => "
      "{ c = sqrt(x)\n d = relu(c)\n e = log(c)\n return d, e }\n");
  PriceList costs({{"exp", 2000},
                   {"sigmoid", 2100},
                   {"abs", 1},
                   {"relu", 1000},
                   {"tanh", 1},
                   {"neg", 1},
                   {"sqrt", 1},
                   {"log", 1}});
  const Graph graph =
      Parse("graph g(x: f32[4]) { a = exp(x) b = abs(x) c = sigmoid(x) return a, b, c }");
  const SearchResult result = Saturate(graph, *rules, &costs);
  EXPECT_LE(result.best_cost.ns(), 3102) << "one of the two";
  ASSERT_TRUE(result.bound);
  EXPECT_LE(result.bound->cost.ns(), 5) << "what no rewrites lead to bounds all the same";
}

constexpr char kCircles[] =
    "rule turn(x: [n, m]) bit_exact { a = relu(x)\n return a } => "
    "{ b = transpose(x) {perm = [1, 0]}\n c = relu(b)\n d = transpose(c) {perm = [1, 0]}\n"
    " return d }\n"
    "rule turn_twice(x: [n, m]) bit_exact { a = transpose(x) {perm = [1, 0]}\n"
    " b = transpose(a) {perm = [1, 0]}\n return b } => { return x }\n";

TEST(SaturationTest, CirclesCloseAndAreCut) {
  auto rules = RuleSetOf(kCircles);
  PriceList costs({});
  const Graph graph = Parse(
      "graph g(x: f32[2,3]) { a = transpose(x) {perm = [1, 0]} b = relu(a)\n"
      "c = transpose(b) {perm = [1, 0]} d = relu(c) return d }");
  const SearchResult result = Saturate(graph, *rules, &costs);
  EXPECT_EQ(result.best_cost.ns(), 200);
  ASSERT_TRUE(result.bound);
  EXPECT_FALSE(result.bound->covers_all_graphs) << "what closes a cycle was left out";
}

TEST(SaturationTest, GrowthEndsAtTheLimit) {
  auto rules = RuleSetOf(
      "rule grow(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n c = exp(b)\n"
      " return c }\n"
      "rule shrink(x: [n]) real_only { a = abs(x)\n b = exp(a)\n return b } => "
      "{ c = neg(x)\n return c }\n");
  PriceList costs(kDetourPrices);
  for (int max_nodes : {1, 2, 3, 10, 300}) {
    const SearchResult result = Saturate(ChainOf("exp", 1), *rules, &costs, Options(max_nodes));
    ASSERT_TRUE(result.bound);
    EXPECT_FALSE(result.bound->covers_all_graphs);
    EXPECT_EQ(result.best_cost.ns(), max_nodes < 10 ? result.best_cost.ns() : 50) << max_nodes;
  }
}

// The bound covers all graphs only if the search looked at all, whatever the limit. Nodes that turn
// out equal make room again.
TEST(SaturationTest, SaysAllOnlyOfAll) {
  auto rules = RuleSetOf(
      "rule grow(x: [n]) real_only { a = tanh(x)\n return a } => { b = relu(x)\n c = sigmoid(b)\n"
      " return c }\n"
      "rule left(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n return b }\n"
      "rule right(x: [n]) real_only { a = log(x)\n return a } => { b = abs(x)\n return b }\n"
      "rule up(x: [n]) real_only { a = sqrt(x)\n return a } => { b = gelu(x)\n c = silu(b)\n"
      " return c }\n"
      "rule down(x: [n]) real_only { a = gelu(x)\n b = silu(a)\n return b } => "
      "{ c = neg(x)\n return c }\n");
  PriceList costs({{"neg", 1}, {"gelu", 5000}});
  const Graph graph = Parse(
      "graph g(x: f32[4]) { a = exp(x) b = log(x) p = tanh(a) q = tanh(b) r = sub(p, q)\n"
      "s = sqrt(r) t = sqrt(s) u = sqrt(t) return u }");
  const SearchResult all = Saturate(graph, *rules, &costs);
  ASSERT_TRUE(all.bound && all.bound->covers_all_graphs);
  EXPECT_EQ(all.best_cost.ns(), 303);
  EXPECT_GE(all.bound->cost.ns(), 302);
  int of_all = 0;
  for (int max_nodes = 1; max_nodes < 40; ++max_nodes) {
    const SearchResult result = Saturate(graph, *rules, &costs, Options(max_nodes));
    ASSERT_TRUE(result.bound);
    of_all += result.bound->covers_all_graphs;
    if (!result.bound->covers_all_graphs) continue;
    EXPECT_LE(result.bound->cost.ns(), 303) << max_nodes;
    EXPECT_EQ(result.best_cost.ns(), 303) << max_nodes;
  }
  EXPECT_GT(of_all, 0);
  EXPECT_LT(of_all, 39);
}

TEST(SaturationTest, StopsWhenAsked) {
  auto rules = RuleSetOf(
      "rule grow(x: [n], y: [n]) real_only { a = add(x, y)\n return a } => "
      "{ b = abs(x)\n c = neg(y)\n d = add(b, c)\n return d }\n"
      "rule relu_twice(x: [n]) bit_exact { a = relu(x)\n b = relu(a)\n return b } => "
      "{ c = relu(x)\n return c }\n");
  PriceList costs({});
  const Graph graph =
      Parse("graph g(x: f32[4], y: f32[4]) { a = add(x, y) b = relu(a) c = relu(b) return c }");
  int calls = 0;
  const SearchResult result =
      Saturate(graph, *rules, &costs, Options(100000), [&](const SearchProgress& progress) {
        EXPECT_EQ(progress.best.ns(), 200);
        ++calls;
        return false;
      });
  EXPECT_EQ(result.stop, StopReason::kCancelled);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(result.bound);
  EXPECT_EQ(result.best_cost.ns(), 200) << "what descent had found";
}

TEST(SaturationTest, TakesAModelThatIsNoSumForOne) {
  auto rules = RuleSetOf(
      absl::StrCat(kDetour,
                   "rule swap(x: [n], y: [n]) real_only { a = sub(x, y)\n b = relu(a)\n return b "
                   "} => { c = add(x, y)\n d = relu(c)\n return d }\n"));
  FusingPrices costs({{"abs", 5000}, {"neg", 50}, {"add", 150}});
  const Graph graph =
      Parse("graph g(x: f32[4], y: f32[4]) { a = exp(x) b = sub(a, y) c = relu(b) return c }");
  const SearchResult result = Saturate(graph, *rules, &costs);
  EXPECT_EQ(result.best_cost.ns(), 200);
  ASSERT_TRUE(result.bound);
  EXPECT_FALSE(result.bound->is_proved);
}

// An operator without a kernel, and no rewrite that removes it.
TEST(SaturationTest, AGraphThatCannotBeRunIsReturned) {
  auto rules = RuleSetOf(kDetour);
  PriceList costs({{"exp", kInfinite}, {"tanh", kInfinite}, {"neg", kInfinite}});
  const Graph graph = ChainOf("exp", 2);
  EXPECT_TRUE(Saturate(graph, *rules, &costs).best_cost.is_infinite());
  FusingPrices fusing({{"exp", kInfinite}, {"tanh", kInfinite}, {"neg", kInfinite}});
  auto result = MakeSaturationSearch(rules.get(), &fusing, Options())->Run(graph, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  // Here a rewrite removes it.
  PriceList helps({{"exp", kInfinite}, {"tanh", kInfinite}, {"neg", 7}});
  EXPECT_EQ(Saturate(graph, *rules, &helps).best_cost.ns(), 14);
}

TEST(SaturationTest, GraphsWithLittleInThem) {
  auto rules = RuleSetOf(
      absl::StrCat(kDetour,
                   "rule relu_twice(x: [n]) bit_exact { a = relu(x)\n b = relu(a)\n return b } => "
                   "{ c = relu(x)\n return c }\n"));
  PriceList costs(kDetourPrices);
  auto cost = [&](const std::string& text) {
    return Saturate(Parse(text), *rules, &costs).best_cost.ns();
  };
  // One value twice.
  const Graph two = Parse("graph g(x: f32[4], y: f32[4]) { a = exp(y) return a, y }");
  const Value a = two.outputs()[0], y = two.outputs()[1];
  EXPECT_EQ(Saturate(two.WithOutputs({y, y}), *rules, &costs).best_cost.ns(), 0);
  EXPECT_EQ(Saturate(two.WithOutputs({a, a}), *rules, &costs).best_cost.ns(), 50);
  EXPECT_EQ(cost("graph g(x: f32[4]) { return x }"), 0);
  EXPECT_EQ(cost("graph g(x: f32[4], y: f32[4]) { return y, x }"), 0);
  EXPECT_EQ(cost("graph g(x: f32[4]) { c = constant f32[2] fill 1.0 return c }"), 0);
  EXPECT_EQ(cost("graph g(x: f32[4]) { c = constant f32[2] fill 1.0 d = exp(c) return d, x }"), 0);
  EXPECT_EQ(cost("graph g(x: f32[4]) { a = exp(x) return a, x }"), 50);
  // A value inside a match is an output too.
  EXPECT_EQ(cost("graph g(x: f32[4]) { a = relu(x) b = relu(a) return b, a }"), 100);
  EXPECT_EQ(cost("graph g(x: f32[4]) { a = abs(x) b = tanh(a) return a, b }"), 5050);
  EXPECT_EQ(cost("graph g(x: f32[4], w: weight f32[4]) { a = exp(w) b = add(x, a) return b }"),
            150);
  EXPECT_EQ(cost("graph g(x: f32[4], w: weight f32[4] = fill 2.0) { a = exp(w) b = add(x, a)\n"
                 "return b }"),
            100);
}

// An output that was an input, and an input that becomes an output.
TEST(SaturationTest, OutputsMayTurnOutToBeInputs) {
  auto rules = RuleSetOf(kCircles);
  PriceList costs({});
  const Graph graph = Parse(
      "graph g(x: f32[2,3]) { a = transpose(x) {perm = [1, 0]} b = transpose(a) {perm = [1, 0]}\n"
      "c = transpose(b) {perm = [1, 0]} return b, c, x, a }");
  EXPECT_EQ(Saturate(graph, *rules, &costs).best_cost.ns(), 100);
}

}  // namespace
}  // namespace lemma::optimizer
