#include "graph/grad/gradient.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/text/text.h"

namespace lemma {
namespace {

using testing::HasSubstr;

// The gradient graph of a text's first output with respect to `names`, as text.
std::string GradientOf(const std::string& text, const std::vector<std::string>& names) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto gradient = GradientGraph(*graph, 0, names);
  return gradient.ok() ? PrintGraph(*gradient) : std::string(gradient.status().message());
}

TEST(GradientTest, AScalarsGradientStartsAtOne) {
  EXPECT_EQ(GradientOf("graph g(x: f32[3], w: weight f32[3]) { p = mul(x, w)\n"
                       "y = reduce_sum(p) {axes = [0]}\n return y }",
                       {"w", "x"}),
            "graph g_gradient(x: f32[3], w: weight f32[3]) {\n"
            "  return d_w = x, d_x = w\n"
            "}\n");
}

TEST(GradientTest, ContributionsAddUp) {
  EXPECT_EQ(GradientOf("graph g(x: f32[3]) { a = exp(x)\n b = mul(x, a)\n return b }", {"x"}),
            "graph g_gradient(x: f32[3], d_b: f32[3]) {\n"
            "  %0 = exp(x)\n"
            "  %1 = mul(d_b, %0)\n"
            "  %2 = mul(d_b, x)\n"
            "  %3 = mul(%2, %0)\n"
            "  d_x = add(%1, %3)\n"
            "  return d_x\n"
            "}\n");
}

TEST(GradientTest, ReluIsAChoice) {
  EXPECT_EQ(GradientOf("graph g(x: f32[3]) { y = relu(x)\n return y }", {"x"}),
            "graph g_gradient(x: f32[3], d_y: f32[3]) {\n"
            "  %0 = constant f32[] fill 0.0\n"
            "  %1 = relu(x)\n"
            "  %2 = less(%0, %1)\n"
            "  d_x = where(%2, d_y, %0)\n"
            "  return d_x\n"
            "}\n");
}

TEST(GradientTest, MeanSquaredErrorIsSmall) {
  EXPECT_EQ(GradientOf("graph g(x: f32[2,4], t: f32[2,4]) { d = sub(x, t)\n s = mul(d, d)\n"
                       "y = reduce_mean(s) {axes = [0,1]}\n return y }",
                       {"x"}),
            "graph g_gradient(x: f32[2,4], t: f32[2,4]) {\n"
            "  %0 = sub(x, t)\n"
            "  %1 = constant f32[] fill 0.25\n"
            "  d_x = mul(%0, %1)\n"
            "  return d_x\n"
            "}\n");
}

TEST(GradientTest, AWeightThatIsTransposedIsNotTransposedTwice) {
  EXPECT_EQ(GradientOf("graph g(x: f32[2,4], w: weight f32[3,4]) {\n"
                       "t = transpose(w) {perm = [1,0]}\n y = matmul(x, t)\n return y }",
                       {"x", "w"}),
            "graph g_gradient(x: f32[2,4], d_y: f32[2,3], w: weight f32[3,4]) {\n"
            "  d_x = matmul(d_y, w)\n"
            "  %0 = transpose(x) {perm = [1, 0]}\n"
            "  %1 = matmul(%0, d_y)\n"
            "  d_w = transpose(%1) {perm = [1, 0]}\n"
            "  return d_x, d_w\n"
            "}\n");
}

TEST(GradientTest, WhatDoesNotDependGetsZeros) {
  EXPECT_EQ(GradientOf("graph g(x: f32[2], z: f32[2]) { y = exp(x)\n return y }", {"z"}),
            "graph g_gradient(x: f32[2], z: f32[2], d_y: f32[2]) {\n"
            "  %0 = constant f32[] fill 0.0\n"
            "  d_z = expand(%0) {shape = [2]}\n"
            "  return d_z\n"
            "}\n");
}

TEST(GradientTest, NothingPassesARounding) {
  EXPECT_EQ(GradientOf("graph g(x: f32[2]) { i = cast(x) {dtype = \"i64\"}\n"
                       "y = cast(i) {dtype = \"f32\"}\n return y }",
                       {"x"}),
            "graph g_gradient(x: f32[2], d_y: f32[2]) {\n"
            "  %0 = constant f32[] fill 0.0\n"
            "  d_x = expand(%0) {shape = [2]}\n"
            "  return d_x\n"
            "}\n");
}

TEST(GradientTest, SaysWhatIsNotDifferentiable) {
  EXPECT_THAT(GradientOf("graph g(x: f32[2]) {\n"
                         "y: f32[2] = opaque(x) {op_type = \"Mystery\"}\n return y }",
                         {"x"}),
              HasSubstr("operator opaque of f32[2] is not differentiable"));
  EXPECT_THAT(GradientOf("graph g(x: f32[2]) { y = exp(x)\n return y }", {"v"}),
              HasSubstr("graph g has no input or weight v"));
}

TEST(GradientTest, AnOpaqueOperatorOffThePathDoesNotMatter) {
  EXPECT_EQ(GradientOf("graph g(x: f32[2], z: f32[2]) {\n"
                       "o: f32[2] = opaque(z) {op_type = \"Mystery\"}\n y = mul(x, o)\n return y }",
                       {"x"}),
            "graph g_gradient(x: f32[2], z: f32[2], d_y: f32[2]) {\n"
            "  %0: f32[2] = opaque(z) {op_type = \"Mystery\"}\n"
            "  d_x = mul(d_y, %0)\n"
            "  return d_x\n"
            "}\n");
}

TEST(GradientTest, ADeepGraphNeedsNoStack) {
  std::string text = "graph g(x0: f32[1]) {\n";
  for (int i = 0; i < 20000; ++i) {
    text += "x" + std::to_string(i + 1) + " = " + (i % 2 ? "sin" : "cos") + "(x" +
            std::to_string(i) + ")\n";
  }
  auto graph = ParseGraph(text + "return x20000 }");
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto gradient = GradientGraph(*graph, 0, {"x0"});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_LT(gradient->num_ops(), 20000 * 4);
}

}  // namespace
}  // namespace lemma
