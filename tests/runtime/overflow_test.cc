// Recognizes graphs that compute so near the largest float that a sum's order decides whether it
// overflows.
#include "runtime/overflow.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

bool Nears(const char* graph, std::vector<double> values) {
  const Graph parsed = GraphWithWeights(graph);
  const TensorType& type = parsed.inputs()[0].type();
  auto nears = NearsOverflow(parsed, {*Tensor::FromDoubles(type, values)});
  EXPECT_TRUE(nears.ok()) << nears.status();
  return *nears;
}

constexpr char kSquares[] =
    "graph g(x: f32[2]) { a = mul(x, x) b = reduce_sum(a) {axes = [0]} return b }";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(OverflowTest, LargeSumsAreNear) {
  EXPECT_TRUE(Nears(kSquares, {1e18, 2}));
  EXPECT_FALSE(Nears(kSquares, {1e16, 2}));
}

TEST(OverflowTest, WhatOverflowsIsNear) { EXPECT_TRUE(Nears(kSquares, {1e30, 2})); }

// 1e30 * 1e30 * 1e-30 * 1e-30 is 1, but not if the factors are multiplied in this order.
TEST(OverflowTest, PartialProductsThatOverflowAreNear) {
  constexpr char kProduct[] = "graph g(x: f32[4]) { a = reduce_prod(x) {axes = [0]} return a }";
  EXPECT_TRUE(Nears(kProduct, {1e30, 1e-30, 1e30, 1e-30}));
  EXPECT_TRUE(Nears(kProduct, {-1e30, 0, 1e30, 1}));
  EXPECT_FALSE(Nears(kProduct, {1e15, 1e-30, 1e15, 1e-30}));
  EXPECT_FALSE(Nears(kProduct, {kInfinity, 0, 1, 1}));
}

// Infinite inputs must not count: they would excuse a kernel that makes NaN of other elements.
TEST(OverflowTest, InfinitiesThatAreGivenAreNot) {
  EXPECT_FALSE(Nears(kSquares, {kInfinity, 2}));
  EXPECT_FALSE(Nears(kSquares, {std::numeric_limits<double>::quiet_NaN(), 2}));
}

}  // namespace
}  // namespace lemma
