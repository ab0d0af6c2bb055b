#include "generator/enumeration/kernel.h"

#include <map>
#include <numeric>
#include <set>
#include <string>

#include "generator/sets/taso_set.h"
#include "graph/graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

using Kind = NodeProgram::Kind;

struct Applied {
  std::unique_ptr<OperatorSet> set;
  OperatorSet::Application application;
};
// Applies the variant to inputs of these names.
Applied Apply(const std::string& variant, const std::vector<std::string>& inputs) {
  Applied result{*TasoSet({variant}), {}};
  std::vector<int> types;
  for (const std::string& name : inputs) {
    for (const Input& input : result.set->inputs()) {
      if (input.name == name) types.push_back(input.type);
    }
  }
  auto applied = result.set->Apply(0, types);
  EXPECT_TRUE(applied.ok()) << applied.status();
  if (applied.ok()) result.application = *std::move(applied);
  return result;
}

Kind LastKind(const Applied& applied) {
  KernelCompiler compiler(1);
  auto form = compiler.ProgramOf(applied.application.graph.outputs()[0].node_ptr());
  EXPECT_TRUE(form.ok()) << form.status();
  return form.ok() ? (*form)->kind : Kind::kProgram;
}

TEST(KernelTest, FormsAreFoundByProbing) {
  EXPECT_EQ(LastKind(Apply("matmul", {"x1", "m1"})), Kind::kBilinear);
  EXPECT_EQ(LastKind(Apply("conv3x3", {"y1", "w1"})), Kind::kBilinear);
  EXPECT_EQ(LastKind(Apply("conv3x3", {"y1", "k"})), Kind::kBilinear);
  EXPECT_EQ(LastKind(Apply("mul", {"x1", "x1"})), Kind::kBilinear);
  EXPECT_EQ(LastKind(Apply("scale", {"x1", "s"})), Kind::kBilinear);
  EXPECT_EQ(LastKind(Apply("add", {"x1", "x1"})), Kind::kLinear);
  EXPECT_EQ(LastKind(Apply("avg_pool3x3", {"y1"})), Kind::kLinear);
  EXPECT_EQ(LastKind(Apply("concat1_4d", {"y1", "y1"})), Kind::kLinear);
  EXPECT_EQ(LastKind(Apply("relu", {"x1"})), Kind::kElementwise);
  EXPECT_EQ(LastKind(Apply("max_pool3x3", {"y1"})), Kind::kProgram);
}

// The form of the last operator of a graph in the text form.
Kind KindOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return Kind::kProgram;
  KernelCompiler compiler(1);
  auto form = compiler.ProgramOf(graph->outputs()[0].node_ptr());
  EXPECT_TRUE(form.ok()) << form.status();
  return form.ok() ? (*form)->kind : Kind::kProgram;
}

TEST(KernelTest, WhatOnlyLooksLikeATableOrElementwise) {
  // Reversing whole rows reverses their softmax; the softmax of a row of one element is 1.
  for (const char* shape : {"[1,1,5]", "[2,5,1]", "[2,5]"}) {
    EXPECT_EQ(KindOf("graph (x: f32" + std::string(shape) + ") { y = softmax(x) return y }"),
              Kind::kProgram)
        << shape;
  }
  // In `where`, any number but 0 chooses a, though conditions are only 0 and 1.
  EXPECT_EQ(KindOf("graph (c: bool[3], a: f32[3], b: f32[3]) { y = where(c, a, b) return y }"),
            Kind::kProgram);
}

std::vector<Field> Ascending(int n, int64_t from) {
  std::vector<Field> x(n);
  for (int i = 0; i < n; ++i) x[i] = Field(from + i * i);
  return x;
}

TEST(KernelTest, MatmulByHand) {
  Applied applied = Apply("matmul", {"x1", "m1"});
  KernelCompiler compiler(1);
  auto kernel = compiler.Compile(applied.application.graph, {{5, 0}});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::vector<Field> x = Ascending(8, -3), m = Ascending(16, 7);
  const Field* operands[] = {x.data(), m.data()};
  std::vector<Field> out(2), scratch;
  kernel->Run(operands, out.data(), &scratch);
  Field expected[2];
  for (int k = 0; k < 4; ++k) {
    expected[0] = expected[0] + x[4 + k] * m[4 * k + 1];
    expected[1] = expected[1] + x[k] * m[4 * k];
  }
  EXPECT_EQ(out[0], expected[0]);
  EXPECT_EQ(out[1], expected[1]);
}

// Some elements, and all of them, of variants of several operators of the table.
TEST(KernelTest, SomeElementsAreThoseOfTheWhole) {
  const std::map<std::string, std::vector<std::string>> variants = {
      {"conv3x3_relu", {"y1", "w1"}}, {"conv3x3", {"y1", "k"}}, {"enlarge3x3", {"u1"}},
      {"max_pool3x3", {"y1"}},        {"avg_pool3x3", {"y1"}},  {"relu", {"y1"}}};
  for (const auto& [name, inputs] : variants) {
    Applied applied = Apply(name, inputs);
    const int n = static_cast<int>(applied.application.graph.outputs()[0].type().num_elements());
    std::vector<int> all(n), some = {0, n / 3, n - 1};
    std::iota(all.begin(), all.end(), 0);
    KernelCompiler compiler(1);
    auto whole = compiler.Compile(applied.application.graph, {all});
    auto part = compiler.Compile(applied.application.graph, {some});
    ASSERT_TRUE(whole.ok() && part.ok()) << name;
    const std::vector<Field> a = Ascending(200, -1000), b = Ascending(200, -77);
    const Field* operands[] = {a.data(), b.data()};
    std::vector<Field> out(n), few(3), scratch;
    whole->Run(operands, out.data(), &scratch);
    part->Run(operands, few.data(), &scratch);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(few[i], out[some[i]]) << name;
    EXPECT_GT(std::set<uint64_t>({out[n / 3].raw(), out[n / 2].raw(), out[n - 1].raw(), 0}).size(),
              1u)
        << name << ": nothing but zeros are compared";
  }
}

}  // namespace
}  // namespace lemma::generator
