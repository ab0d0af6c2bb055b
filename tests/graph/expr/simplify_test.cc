#include "graph/expr/simplify.h"

#include "gtest/gtest.h"

namespace lemma {
namespace {

// Variables 0, 1, 2 of extents 4, 6, 5; variable 3 is unknown.
class SimplifyTest : public testing::Test {
 protected:
  SimplifyTest() {
    for (VarId v = 0; v < 3; ++v) simplifier_.SetExtent(v, IndexExpr(extents_[v]));
  }
  std::string Simplified(const IndexExpr& e) { return simplifier_.Simplify(e).ToString(); }
  std::string Simplified(const Guard& g) { return simplifier_.Simplify(g).ToString(); }

  const int64_t extents_[3] = {4, 6, 5};
  Simplifier simplifier_;
  IndexExpr i = IndexExpr::Var(0), j = IndexExpr::Var(1), k = IndexExpr::Var(2),
            u = IndexExpr::Var(3);
};

TEST_F(SimplifyTest, DigitsOfAFlatIndex) {
  IndexExpr flat = (i * 6 + j) * 5 + k;
  EXPECT_EQ(Simplified(FloorDiv(flat, 30)), "i0");
  EXPECT_EQ(Simplified(Mod(FloorDiv(flat, 5), 6)), "i1");
  EXPECT_EQ(Simplified(Mod(flat, 5)), "i2");
}

TEST_F(SimplifyTest, WhatRangesDoNotDecideStays) {
  EXPECT_EQ(Simplified(FloorDiv(j, 4)), "(i1 div 4)");
  EXPECT_EQ(Simplified(Mod(u, 4)), "(i3 mod 4)");
  EXPECT_EQ(Simplified(Le(i, 2)), "i0 <= 2");
}

TEST_F(SimplifyTest, GuardsThatRangesDecide) {
  EXPECT_EQ(Simplified(InRange(i + 1, 5)), "true");
  EXPECT_EQ(Simplified(Lt(i, 0) || Eq(j, 6)), "false");
  EXPECT_EQ(Simplified(Le(i - i, 0)), "true");
}

TEST_F(SimplifyTest, ValuesArePreserved) {
  IndexExpr flat = i * 7 - j * 3 + k * 4 - 2;
  for (int64_t m : {1, 2, 3, 4, 6, 7, 12, 30}) {
    for (const IndexExpr& e : {FloorDiv(flat, m), Mod(flat, m), Min(flat, m), Max(flat - m, 0)}) {
      IndexExpr simplified = simplifier_.Simplify(e);
      for (int64_t p = 0; p < 4 * 6 * 5; ++p) {
        IndexEnv env{[p](VarId v) -> std::optional<int64_t> {
                       return v == 0 ? p % 4 : v == 1 ? p / 4 % 6 : p / 24;
                     },
                     nullptr};
        ASSERT_EQ(EvaluateIndex(e, env), EvaluateIndex(simplified, env)) << e.ToString();
      }
    }
  }
}

TEST_F(SimplifyTest, BranchesThatRangesDecideDisappear) {
  ScalarExpr e = ScalarExpr::Select(Lt(i, 4), ScalarExpr::Read(0, {i}), 1) +
                 ScalarExpr::Reduce(ReduceKind::kSum, {{7, 3}}, Lt(IndexExpr::Var(7), 3), 2);
  EXPECT_EQ(simplifier_.Simplify(e).ToString(), "add(t0[i0], sum(i7 < 3, 2))");
}

}  // namespace
}  // namespace lemma
