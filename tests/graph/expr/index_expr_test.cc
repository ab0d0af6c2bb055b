#include "graph/expr/index_expr.h"

#include <random>

#include "gtest/gtest.h"

namespace lemma {
namespace {

IndexExpr V(VarId v) { return IndexExpr::Var(v); }

TEST(IndexExprTest, ConstantsFold) {
  EXPECT_EQ(FloorDiv(-7, 2).value(), -4);
  EXPECT_EQ(Mod(-7, 2).value(), 1);
  EXPECT_EQ(CeilDiv(7, 2).value(), 4);
  EXPECT_EQ(CeilDiv(-7, 2).value(), -3);
  EXPECT_EQ((IndexExpr(3) * 4 - 5).value(), 7);
}

TEST(IndexExprTest, NeutralElementsVanish) {
  EXPECT_EQ((V(0) * 1 + 0).ToString(), "i0");
  EXPECT_EQ((V(0) * 0).ToString(), "0");
  EXPECT_EQ((V(0) + 3 - 3).ToString(), "i0");
  EXPECT_EQ(FloorDiv(V(0), 1).ToString(), "i0");
  EXPECT_EQ(Mod(V(0), 1).ToString(), "0");
}

TEST(IndexExprTest, UndefinedAndOverflowingDivisionsDoNotFold) {
  EXPECT_FALSE(FloorDiv(V(0) - V(0) + 1, 0).is_const());
  IndexEnv env;
  EXPECT_FALSE(EvaluateIndex(FloorDiv(5, 0), env).has_value());
  EXPECT_FALSE(EvaluateIndex(IndexExpr(int64_t{1} << 62) * 4, env).has_value());
  EXPECT_EQ(EvaluateIndex(Mod(INT64_MIN, 3), env), 1);  // -2^63 = 3 * -3074457345618258603 + 1
  EXPECT_EQ(EvaluateIndex(Mod(-7, 3), env), 2);
}

TEST(GuardTest, ConstantsFoldAndOperatorsShortCut) {
  EXPECT_TRUE(Lt(2, 3).is_true());
  EXPECT_TRUE(Lt(3, 3).is_false());
  EXPECT_TRUE((Lt(V(0), 3) && Lt(3, 3)).is_false());
  EXPECT_TRUE((Lt(V(0), 3) || Lt(2, 3)).is_true());
  EXPECT_TRUE(Eq(V(0), V(0)).is_true());
  EXPECT_EQ((!!Le(V(0), 3)).ToString(), "i0 <= 3");
}

// A false operand decides a conjunction even if the other operand is unknown, whatever their kinds.
TEST(GuardTest, EvaluationIsThreeValued) {
  IndexEnv env;
  env.var = [](VarId v) { return v == 0 ? std::optional<int64_t>(1) : std::nullopt; };
  EXPECT_EQ(EvaluateGuard(Le(V(0), 0) && Le(V(1), 0), env), false);
  EXPECT_EQ(EvaluateGuard(Le(V(1), 0) && Le(V(0), 0), env), false);
  EXPECT_EQ(EvaluateGuard(Le(V(1), 0) && Le(V(0), 1), env), std::nullopt);
  EXPECT_EQ(EvaluateGuard(!(Le(V(1), 0) || Le(V(0), 1)), env), false);
}

IndexExpr RandomExpr(std::mt19937& rng, int depth) {
  auto pick = [&](int n) { return static_cast<int>(rng() % n); };
  if (depth == 0) return pick(2) ? V(pick(2)) : IndexExpr(pick(9) - 4);
  IndexExpr a = RandomExpr(rng, depth - 1), b = RandomExpr(rng, depth - 1);
  switch (pick(7)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return FloorDiv(a, pick(4) + 1);
    case 4:
      return Mod(a, pick(4) + 1);
    case 5:
      return Min(a, b);
    default:
      return Max(a, b);
  }
}

// Bounds contain every value; checked on all values of two variables for random expressions.
TEST(IndexExprTest, BoundsAreSound) {
  std::mt19937 rng(1);
  for (int trial = 0; trial < 2000; ++trial) {
    IndexExpr e = RandomExpr(rng, 3);
    auto bounds = BoundIndex(e, [](VarId v) {
      return std::optional<Interval>(v == 0 ? Interval{-2, 3} : Interval{0, 4});
    });
    ASSERT_TRUE(bounds.has_value()) << e.ToString();
    for (int64_t x = -2; x <= 3; ++x) {
      for (int64_t y = 0; y <= 4; ++y) {
        IndexEnv env;
        env.var = [&](VarId v) { return std::optional<int64_t>(v == 0 ? x : y); };
        auto value = EvaluateIndex(e, env);
        ASSERT_TRUE(value.has_value());
        ASSERT_LE(bounds->lo, *value) << e.ToString();
        ASSERT_GE(bounds->hi, *value) << e.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace lemma
