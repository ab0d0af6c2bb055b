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
                     {{"axis", int64_t{1}}, {"reduction", "min"}}),
              HasSubstr("reduction is min; it may be none, add or mul"));
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

}  // namespace
}  // namespace lemma
