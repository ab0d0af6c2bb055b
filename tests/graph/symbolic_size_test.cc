#include "graph/sizes/symbolic_size.h"

#include <chrono>
#include <set>
#include <string>

#include "graph/builder.h"
#include "graph/sizes/specialize.h"
#include "graph/sizes/totals.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

const IndexExpr kBatch = SymbolicDim("batch"), kSeq = SymbolicDim("seq");
const IndexExpr kHeight = SymbolicDim("h", {32, 2048});

int64_t Size(const IndexExpr& e) { return ToSize(e).value(); }

TEST(SymbolicSizeTest, EqualExpressionsAreOneSize) {
  EXPECT_EQ(Size(kBatch * kSeq), Size(kSeq * kBatch));
  EXPECT_EQ(Size((kSeq + 1) * (kSeq - 1)), Size(kSeq * kSeq - 1));
  EXPECT_EQ(Size(FloorDiv(kSeq * 6, 3)), Size(kSeq * 2));
  EXPECT_EQ(Size(FloorDiv(kBatch * kSeq * 12, kBatch * 4)), Size(kSeq * 3));
  EXPECT_EQ(Size(kSeq - kSeq + 7), 7);
  EXPECT_NE(Size(kBatch), Size(kSeq));
  EXPECT_NE(Size(kSeq), Size(SymbolicDim("seq", {1, 64}))) << "another range";
  EXPECT_TRUE(IsSymbolic(Size(kSeq)));
  EXPECT_FALSE(IsSymbolic(INT64_MAX));
  EXPECT_FALSE(IsSymbolic(int64_t{1} << 62)) << "no expression has this number yet";
}

TEST(SymbolicSizeTest, NamesReadBack) {
  auto dim = [](const std::string& name) -> std::optional<IndexExpr> {
    if (name == "batch") return kBatch;
    if (name == "seq") return kSeq;
    return std::nullopt;
  };
  for (const IndexExpr& e :
       {kSeq * 2 + 1, FloorDiv(kSeq - 1, 2) + 1, kBatch * (kSeq + 3), Min(kSeq, 512) * 4,
        Max(kSeq - 2, kBatch), kSeq - kBatch, Mod(kSeq, 8)}) {
    const std::string name = SizeName(Size(e));
    auto read = ParseSize(name, dim);
    ASSERT_TRUE(read.has_value()) << name;
    EXPECT_EQ(Size(*read), Size(e)) << name;
  }
  EXPECT_EQ(SizeName(Size(kSeq + 1)), "seq + 1");
  EXPECT_EQ(SizeName(12), "12");
  EXPECT_EQ(Size(*ParseSize("(seq - 1)//2 + 1", dim)), Size(FloorDiv(kSeq - 1, 2) + 1));
  for (const char* bad : {"", "seq +", "other", "seq seq", "(seq", "floor_div(seq)", "2*"}) {
    EXPECT_FALSE(ParseSize(bad, dim).has_value()) << bad;
  }
}

TEST(SymbolicSizeTest, DecidesForAllSizesInRange) {
  EXPECT_EQ(Decide(Le(1, kSeq)), true);
  EXPECT_EQ(Decide(Le(2, kSeq)), std::nullopt);
  EXPECT_EQ(Decide(Le(kSeq, 0)), false);
  EXPECT_EQ(Decide(Le(kSeq, kBatch * kSeq)), true);
  EXPECT_EQ(Decide(Eq(kSeq, kBatch)), std::nullopt);
  EXPECT_EQ(Decide(Eq(kSeq, kSeq + 1)), false);
  EXPECT_EQ(Decide(Le(1, FloorDiv(kSeq - 1, 2) + 1)), true);
  EXPECT_EQ(Decide(Le(FloorDiv(kHeight, 2), 1024)), true);
  EXPECT_EQ(Decide(Le(FloorDiv(kHeight, 2), 1023)), std::nullopt);
  EXPECT_EQ(Decide(Eq(FloorDiv(kHeight, 2) * 2, kHeight)), std::nullopt) << "h may be odd";
  EXPECT_EQ(Decide(Le(kHeight, 31)), false);
  EXPECT_EQ(Decide(Le(Min(kSeq, 5), kSeq)), true);
  EXPECT_EQ(Decide(Le(kSeq, Max(kSeq, kBatch))), true);
  EXPECT_EQ(Decide(Le(FloorDiv(kSeq, 2), kSeq)), true);
  EXPECT_EQ(Decide(Le(FloorDiv(kSeq + 1, 2) * 2, kSeq + 1)), true);
  EXPECT_EQ(Decide(Le(kSeq - 1, FloorDiv(kSeq, 2) * 2)), true);
  EXPECT_EQ(Decide(Le(kSeq, FloorDiv(kSeq, 2) * 2)), std::nullopt);
  EXPECT_EQ(Decide(Le(3, 2 * kSeq - 2 * FloorDiv(kSeq, 2) + 1)), true) << "an odd number above 2";
  EXPECT_EQ(Decide(Le(3, 4 * kSeq - 2 * FloorDiv(kSeq, 2))), true);
  EXPECT_EQ(Decide(Le(3, 4 * kSeq - 2)), std::nullopt);
  EXPECT_EQ(Decide(!(Le(kHeight, 31)) && Le(1, kSeq)), true);
  EXPECT_EQ(Decide(Eq(kSeq, 5) || Le(1, kSeq)), true);
}

// The numbers of boxes of a detector's levels add up so; each may be cut off. Without a limit of
// the steps, one decision took seconds.
TEST(SymbolicSizeTest, SumsOfManyMinimaAreDecidedOrLeftOpenSoon) {
  IndexExpr sum = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const IndexExpr n = SymbolicDim("n" + std::to_string(i), {1, 1000});
    sum = sum + Min(n * (i + 2), 400 + i) - FloorDiv(n, 3);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Decide(Le(sum, 40 * 440)), true);
  EXPECT_EQ(Decide(Le(1, sum)), std::nullopt);
  EXPECT_EQ(Decide(Eq(sum, 1000)), std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Whatever is decided must hold for every value.
TEST(SymbolicSizeTest, DecisionsHoldAtSmallSizes) {
  const IndexExpr a = SymbolicDim("a", {1, 7}), b = SymbolicDim("b", {2, 5});
  const std::vector<IndexExpr> exprs = {a,
                                        b,
                                        a + b,
                                        a * b - 3,
                                        FloorDiv(a * 3 - 4, 2),
                                        FloorDiv(a, b),
                                        Mod(a * b, 3),
                                        Min(a, b) * 2,
                                        Max(a - 4, b),
                                        a * a - b * 2,
                                        a * 2 - FloorDiv(a, 2) * 2 - 2,
                                        FloorDiv(a + FloorDiv(a, 2), 2) * 3 - a * 3 + 1,
                                        IndexExpr(3),
                                        IndexExpr(0) - a};
  auto value = [](const IndexExpr& e, int64_t a_value, int64_t b_value) {
    IndexEnv env;
    env.var = [](VarId) { return std::nullopt; };
    env.symbol = [&](const std::string& name) -> std::optional<int64_t> {
      return name[1] == 'a' ? a_value : b_value;
    };
    return EvaluateIndex(e, env).value();
  };
  int decided = 0;
  for (const IndexExpr& x : exprs) {
    for (const IndexExpr& y : exprs) {
      const auto le = Decide(Le(x, y)), eq = Decide(Eq(x, y));
      decided += le.has_value() + eq.has_value();
      for (int64_t i = 1; i <= 7; ++i) {
        for (int64_t j = 2; j <= 5; ++j) {
          const int64_t u = value(x, i, j), v = value(y, i, j);
          if (le) {
            EXPECT_EQ(u <= v, *le) << x.ToString() << " <= " << y.ToString();
          }
          if (eq) {
            EXPECT_EQ(u == v, *eq) << x.ToString() << " = " << y.ToString();
          }
          const int64_t size = Size(x);
          if (!IsSymbolic(size)) continue;
          auto evaluated = Evaluate(size, {{"a", i}, {"b", j}});
          ASSERT_TRUE(evaluated.ok()) << evaluated.status();
          EXPECT_EQ(*evaluated, u) << SizeName(size);
        }
      }
    }
  }
  EXPECT_GE(decided, 60);
}

TEST(SymbolicSizeTest, ProductsAndQuotients) {
  EXPECT_EQ(ProductOf({Size(kBatch), 3, Size(kSeq)}), Size(kBatch * kSeq * 3));
  EXPECT_EQ(ProductOf({Size(kBatch), 0}), 0);
  EXPECT_EQ(ProductOf({2, 3}), 6);
  EXPECT_EQ(QuotientOf(Size(kBatch * kSeq * 12), 4), Size(kBatch * kSeq * 3));
  EXPECT_EQ(QuotientOf(Size(kBatch * kSeq), Size(kBatch)), Size(kSeq));
  EXPECT_EQ(QuotientOf(Size(kSeq), 4), std::nullopt);
  EXPECT_TRUE(MayBeEmpty({Size(kSeq - 1)}));
  EXPECT_FALSE(MayBeEmpty({Size(kSeq), 4}));
}

Graph Model() {
  GraphBuilder builder("main");
  const Value x = builder.Input("x", {DType::kF32, {Size(kBatch), Size(kSeq), 8}});
  const Value flat =
      *builder.Op("reshape", {x}, {{"shape", Shape{ProductOf({Size(kBatch), Size(kSeq)}), 8}}});
  builder.Output("y", *builder.Op("relu", {flat}));
  return *std::move(builder).Build();
}

TEST(SpecializeTest, GivesTheGraphForNumbers) {
  const Graph graph = Model();
  EXPECT_TRUE(IsSymbolic(graph));
  EXPECT_EQ(graph.outputs()[0].type().ToString(), "f32[batch*seq,8]");
  auto sizes = BindDims(graph, {{DType::kF32, {2, 5, 8}}});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  auto made = Specialize(graph, *sizes);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(IsSymbolic(*made));
  EXPECT_EQ(made->outputs()[0].type().ToString(), "f32[10,8]");
}

TEST(SpecializeTest, RefusesOtherSizes) {
  const Graph graph = Model();
  EXPECT_FALSE(BindDims(graph, {{DType::kF32, {2, 5, 7}}}).ok());
  EXPECT_FALSE(BindDims(graph, {{DType::kF32, {0, 5, 8}}}).ok()) << "below the range";
  EXPECT_FALSE(Specialize(graph, {{"batch", 2}}).ok());
  EXPECT_FALSE(Specialize(graph, {{"batch", 2}, {"seq", 0}}).ok());
}

TEST(SymbolicSizeTest, DeepGraphsNeedNoDeepStackToGetSizes) {
  GraphBuilder b("deep");
  Value v = b.Input("x", {DType::kF32, {Size(kSeq), 2}});
  const Value w = b.Weight("w", TensorType{DType::kF32, {2, 2}});
  for (int i = 0; i < 200000; ++i) v = b.Op("matmul", {v, w}).value();
  Specializer specializer({{"seq", 3}});
  const absl::StatusOr<NodePtr> node = specializer.Of(v.node_ptr());
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)->type(0).shape, (Shape{3, 2}));
}

DimValues Fitted(DimValues sizes, const std::set<std::string>& fixed = {}) {
  FitTotals(fixed, &sizes);
  return sizes;
}

TEST(TotalsTest, ATotalIsTheSumOfItsParts) {
  EXPECT_EQ(Fitted({{"past_n", 5}, {"n", 3}, {"total_n", 4}}).at("total_n"), 8);
  EXPECT_EQ(Fitted({{"past_n", 5}, {"total_n", 4}}).at("total_n"), 6);
  EXPECT_EQ(Fitted({{"past_n", 5}, {"n", 3}, {"kv_n", 2}, {"total_n", 4}}).at("total_n"), 7);
  EXPECT_EQ(Fitted({{"n", 3}, {"total_n", 4}}).at("total_n"), 4);
  EXPECT_EQ(Fitted({{"p", 5}, {"n", 3}, {"p + n", 4}}).at("p + n"), 8);
  EXPECT_EQ(Fitted({{"p", 5}, {"p + n", 4}}).at("p + n"), 6);
}

TEST(TotalsTest, WhatIsFixedStays) {
  const DimValues sizes = {{"past_n", 5}, {"n", 3}, {"total_n", 4}};
  EXPECT_EQ(Fitted(sizes, {"total_n"}), (DimValues{{"past_n", 1}, {"n", 3}, {"total_n", 4}}));
  EXPECT_EQ(Fitted(sizes, {"total_n", "past_n"}), sizes) << "n would be negative";
  EXPECT_EQ(Fitted({{"past_n", 2}, {"n", 3}, {"total_n", 4}}, {"total_n", "past_n"}).at("n"), 2);
  EXPECT_EQ(Fitted(sizes, {"total_n", "past_n", "n"}), sizes);
  EXPECT_EQ(Fitted({{"p", 5}, {"p + n", 4}}, {"p + n"}).at("p + n"), 4);
}

}  // namespace
}  // namespace lemma
