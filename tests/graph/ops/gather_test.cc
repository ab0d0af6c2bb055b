#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Arg Positions(Shape shape, std::vector<double> values) {
  return Arg(std::move(shape), std::move(values), DType::kI64);
}

TEST(Gather, AlongAnAxis) {
  Arg x({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Eval1("gather", {x, Positions({2}, {1, -2})}), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(Eval1("gather", {x, Positions({1, 2}, {-1, 0})}, {{"axis", int64_t{1}}}),
              ElementsAre(3, 1, 6, 4));
  EXPECT_EQ(TypeOf("gather", {x.type, {DType::kI64, {}}}, {{"axis", int64_t{-1}}}), "f32[2]");
  EXPECT_FALSE(Eval("gather", {x, Positions({1}, {2})}).ok());
  EXPECT_THAT(TypeOf("gather", {x.type, x.type}), HasSubstr("indices must be integers, not f32"));
}

TEST(Gather, Elements) {
  Arg x({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      Eval1("gather_elements", {x, Positions({2, 2}, {0, 0, 1, 0})}, {{"axis", int64_t{1}}}),
      ElementsAre(1, 1, 4, 3));
  EXPECT_THAT(Eval1("gather_elements", {x, Positions({1, 2}, {-1, 0})}), ElementsAre(3, 2));
}

TEST(Gather, Tuples) {
  Arg x({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Eval1("gather_nd", {x, Positions({2, 2}, {0, 0, 1, 1})}), ElementsAre(1, 4));
  EXPECT_THAT(Eval1("gather_nd", {x, Positions({2, 1}, {1, 0})}), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(Eval1("gather_nd", {x, Positions({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}}),
              ElementsAre(2, 3));
}

TEST(Scatter, Elements) {
  Arg x({1, 5}, {1, 2, 3, 4, 5});
  Arg updates({1, 2}, {10, 20});
  EXPECT_THAT(
      Eval1("scatter_elements", {x, Positions({1, 2}, {1, -2}), updates}, {{"axis", int64_t{1}}}),
      ElementsAre(1, 10, 3, 20, 5));
  EXPECT_THAT(Eval1("scatter_elements", {x, Positions({1, 2}, {1, 1}), updates},
                    {{"axis", int64_t{1}}, {"reduction", "add"}}),
              ElementsAre(1, 32, 3, 4, 5));
  EXPECT_THAT(TypeOf("scatter_elements", {x.type, {DType::kI64, {1, 2}}, updates.type},
                     {{"axis", int64_t{1}}, {"reduction", "least"}}),
              HasSubstr("reduction is least; it may be none, add, mul, max or min"));
}

TEST(Scatter, ExtremesOfUpdatesAndTheElement) {
  Arg x({4}, {1, 2, 3, 4});
  EXPECT_THAT(Eval1("scatter_elements", {x, Positions({3}, {1, 1, -1}), Arg({3}, {5, 7, 0})},
                    {{"reduction", "max"}}),
              ElementsAre(1, 7, 3, 4));
  EXPECT_THAT(Eval1("scatter_nd", {x, Positions({3, 1}, {1, 1, 3}), Arg({3}, {5, -7, 9})},
                    {{"reduction", "min"}}),
              ElementsAre(1, -7, 3, 4));
  EXPECT_THAT(
      Eval1("scatter_elements", {x, Positions({0}, {}), Arg({0}, {})}, {{"reduction", "max"}}),
      ElementsAre(1, 2, 3, 4));
}

TEST(Scatter, OutsideTheIndicesNothingChanges) {
  Arg x({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Eval1("scatter_elements", {x, Positions({1, 2}, {1, 0}), Arg({1, 2}, {7, 8})}),
              ElementsAre(1, 8, 3, 7, 5, 6));
}

TEST(Scatter, Tuples) {
  Arg x({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Eval1("scatter_nd", {x, Positions({1, 2}, {1, 0}), Arg({1}, {9})}),
              ElementsAre(1, 2, 9, 4));
  EXPECT_THAT(Eval1("scatter_nd", {x, Positions({2, 1}, {1, 1}), Arg({2, 2}, {2, 3, 4, 5})},
                    {{"reduction", "mul"}}),
              ElementsAre(1, 2, 24, 60));
}

TEST(OneHot, PutsTheValueWhereTheIndexPoints) {
  Arg values({2}, {5, 7});
  EXPECT_THAT(Eval1("one_hot", {Positions({2}, {2, -3}), values}, {{"depth", int64_t{3}}}),
              ElementsAre(5, 5, 7, 7, 5, 5));
  EXPECT_THAT(Eval1("one_hot", {Positions({2}, {1, 9}), values},
                    {{"depth", int64_t{2}}, {"axis", int64_t{0}}}),
              ElementsAre(5, 5, 7, 5));
}

TEST(TopK, TheLowerIndexIsFirstAmongEquals) {
  Arg x({2, 4}, {3, 1, 3, 2, 5, 5, 5, 6});
  auto largest = Eval("top_k", {x}, {{"k", int64_t{3}}});
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_THAT(largest->values[0], ElementsAre(3, 3, 2, 6, 5, 5));
  EXPECT_THAT(largest->values[1], ElementsAre(0, 2, 3, 3, 0, 1));
  auto smallest =
      Eval("top_k", {x}, {{"k", int64_t{1}}, {"axis", int64_t{0}}, {"largest", int64_t{0}}});
  ASSERT_TRUE(smallest.ok()) << smallest.status();
  EXPECT_THAT(smallest->values[0], ElementsAre(3, 1, 3, 2));
  EXPECT_THAT(smallest->values[1], ElementsAre(0, 0, 0, 0));
}

TEST(TopK, NaNIsLargest) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Arg x({5}, {1, nan, inf, nan, -inf});
  auto largest = Eval("top_k", {x}, {{"k", int64_t{5}}});
  auto smallest = Eval("top_k", {x}, {{"k", int64_t{5}}, {"largest", int64_t{0}}});
  ASSERT_TRUE(largest.ok() && smallest.ok());
  EXPECT_THAT(largest->values[1], ElementsAre(1, 3, 2, 0, 4));
  EXPECT_THAT(smallest->values[1], ElementsAre(4, 0, 2, 1, 3));
}

TEST(TopK, Types) {
  const TensorType x{DType::kI32, {3, 0, 2}};
  EXPECT_EQ(TypeOf("top_k", {x}, {{"k", int64_t{2}}, {"axis", int64_t{-3}}}), "i32[2,0,2]");
  EXPECT_EQ(TypeOf("top_k", {x}, {{"k", int64_t{0}}, {"axis", int64_t{1}}}, 1), "i64[3,0,2]");
  EXPECT_THAT(TypeOf("top_k", {x}, {{"k", int64_t{3}}}),
              HasSubstr("k is 3, axis 2 has 2 elements"));
}

}  // namespace
}  // namespace lemma
