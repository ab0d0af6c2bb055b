#include "tests/graph/onnx/compare.h"

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using testing::HasSubstr;

Tensor Floats(std::vector<double> values) {
  return *Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(values.size())}}, values);
}

TEST(CompareTest, AllowsRoundingOnly) {
  Graph graph = *ParseGraph("graph g(x: f32[2]) { y = exp(x) return y }");
  EXPECT_EQ(Mismatch(graph, {Floats({1e-3, 1e-6})}, {Floats({1e-3, 1e-6 + 1e-10})}), "");
  EXPECT_THAT(Mismatch(graph, {Floats({1e-3, 1e-6})}, {Floats({1e-3, 2e-6})}),
              HasSubstr("output 0 element 1 is 1e-06, expected 2e-06"));
}

TEST(CompareTest, TellsTypesApart) {
  Graph graph = *ParseGraph("graph g(x: f32[2]) { y = exp(x) return y }");
  EXPECT_EQ(Mismatch(graph, {Floats({1, 2, 3})}, {Floats({1, 2})}),
            "output 0 is f32[3], expected f32[2]");
  EXPECT_EQ(Mismatch(graph, {}, {Floats({1, 2})}), "too few outputs");
}

TEST(CompareTest, IntegersAreExactUnlessTheyWereRounded) {
  Graph exact = *ParseGraph("graph g(x: i64[1]) { y = add(x, x) return y }");
  Graph rounded =
      *ParseGraph("graph g(x: f32[1]) { r = round(x) y = cast(r) {dtype = \"i64\"} return y }");
  EXPECT_NE(Mismatch(exact, {Tensor::Ints({3})}, {Tensor::Ints({4})}), "");
  EXPECT_EQ(Mismatch(rounded, {Tensor::Ints({3})}, {Tensor::Ints({4})}), "");
  EXPECT_NE(Mismatch(rounded, {Tensor::Ints({3})}, {Tensor::Ints({5})}), "");
}

}  // namespace
}  // namespace lemma
