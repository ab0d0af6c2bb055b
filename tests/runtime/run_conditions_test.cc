// Kernels that run only if a condition holds.
#include "runtime/plan/run_conditions.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/planner.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using testing::UnorderedElementsAre;

constexpr char kSides[] = R"(graph g(x: f32[4,4], i: i64[], n: i64[3], j: i64[]) {
  c = equal(i, j)
  a = matmul(x, x)
  b = gather(x, n) {axis = 0}
  s = reduce_sum(b) {axes = [0], keepdims = 0}
  e = expand(s) {shape = [4,4]}
  y = where(c, a, e)
  return y
})";

// "a: c, e: !c": the conditions of values with labels.
std::vector<std::string> ConditionsIn(const std::string& text) {
  auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return {};
  const Graph& graph = *parsed;
  const UseTable uses(graph);
  auto name = [&](const Value& v) {
    return v.node().is_op() ? std::string(graph.LabelOf(v))
                            : graph.input_names()[v.node().input_index()];
  };
  NodeTraitsCache traits;
  const auto conditions = RunConditions(uses, traits);
  std::vector<std::string> lines;
  for (const NodePtr& node : graph.nodes()) {
    std::string line;
    for (const auto& [condition, holds] : conditions[uses.NodeOf(*node)]) {
      absl::StrAppend(&line, holds ? " " : " !", name(condition));
    }
    if (!line.empty()) lines.push_back(absl::StrCat(name(Value(node, 0)), ":", line));
  }
  return lines;
}

TEST(RunConditionsTest, ASideNeedsItsCondition) {
  EXPECT_THAT(ConditionsIn(kSides), UnorderedElementsAre("a: c", "b: !c", "s: !c", "e: !c"));
}

TEST(RunConditionsTest, WhatBothSidesOrAnOutputNeedsHasNone) {
  EXPECT_THAT(ConditionsIn(R"(graph g(x: f32[2], c: bool[]) {
  a = exp(x)
  b = neg(a)
  d = sin(a)
  y = where(c, b, d)
  return y, d
})"),
              UnorderedElementsAre("b: c"));
}

TEST(RunConditionsTest, ConditionsNest) {
  EXPECT_THAT(ConditionsIn(R"(graph g(x: f32[2], c: bool[], d: bool[]) {
  a = exp(x)
  b = sin(a)
  f = where(d, a, b)
  k = neg(x)
  y = where(c, f, k)
  return y
})"),
              UnorderedElementsAre("f: c", "a: c", "b: c !d", "k: !c", "d: c"));
}

TEST(RunConditionsTest, TheCpuRunsOneSide) {
  const Graph graph = GraphWithWeights(kSides);
  auto executable = MakeCpuBackend()->Compile(graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<Tensor> inputs = RandomInputs(graph);
  inputs[1] = inputs[3] = *Tensor::FromInts({DType::kI64, {}}, {1});
  inputs[2] = *Tensor::FromInts({DType::kI64, {3}}, {9, 9, 9});  // outside of x
  EXPECT_TRUE((*executable)->Run(inputs).ok());
  inputs[1] = *Tensor::FromInts({DType::kI64, {}}, {0});
  EXPECT_FALSE((*executable)->Run(inputs).ok());
  inputs[2] = *Tensor::FromInts({DType::kI64, {3}}, {3, 0, 1});
  ExpectCpuMatchesReference(graph, inputs);
  // Nothing is left from another run.
  inputs[1] = *Tensor::FromInts({DType::kI64, {}}, {1});
  ExpectCpuMatchesReference(graph, inputs);
}

// Graphs of choices between products, layouts and concatenations that share operands at random.
std::string RandomChoices(std::mt19937* random) {
  std::string text = "graph g(x: f32[4,4], w: f32[4,4], c0: bool[], c1: bool[], c2: bool[]) {\n";
  std::vector<std::string> values = {"x", "w"};
  auto pick = [&](int from) {
    return values[std::max(0, static_cast<int>(values.size()) - from) +
                  (*random)() % std::min<size_t>(from, values.size())];
  };
  for (int n = 0; n < 14; ++n) {
    const std::string name = absl::StrCat("v", n);
    switch ((*random)() % 9) {
      case 0:
        absl::StrAppend(&text, name, " = matmul(", pick(4), ", ", pick(4), ")\n");
        break;
      case 1:
        absl::StrAppend(&text, name, " = relu(", pick(4), ")\n");
        break;
      case 2:
        absl::StrAppend(&text, name, " = transpose(", pick(4), ") {perm = [1,0]}\n");
        break;
      case 3:
        absl::StrAppend(&text, name, "c = concat(", pick(4), ", ", pick(4), ") {axis = 1}\n", name,
                        " = slice(", name, "c) {starts = [0,2], sizes = [4,4]}\n");
        break;
      case 4:
        absl::StrAppend(&text, name, " = add(", pick(4), ", ", pick(4), ")\n");
        break;
      case 5:
        absl::StrAppend(&text, name, " = softmax(", pick(4), ") {axis = 1}\n");
        break;
      default:
        absl::StrAppend(&text, name, " = where(c", (*random)() % 3, ", ", pick(3), ", ", pick(3),
                        ")\n");
        break;
    }
    values.push_back(name);
  }
  return absl::StrCat(text, "return ", values.back(), "\n}");
}

TEST(RunConditionsTest, RandomChoicesGiveWhatTheReferenceGives) {
  std::mt19937 random(20261123);
  int skipping = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::string text = RandomChoices(&random);
    const Graph graph = GraphWithWeights(text);
    NodeTraitsCache traits;
    auto plan = cpu::PlanGraph(graph, traits, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const cpu::CpuStep& step : plan->steps) skipping += step.conditions.empty() ? 0 : 1;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      ExpectCpuMatchesReference(graph, RandomInputs(graph, seed));
    }
    ASSERT_FALSE(HasFailure()) << text;
  }
  EXPECT_GT(skipping, 200);
}

TEST(RunConditionsTest, AStepThatIsWronglySkippedIsFound) {
  const Graph graph = GraphWithWeights(kSides);
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(graph, traits, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(cpu::CheckConditions(*plan).ok());
  for (cpu::CpuStep& step : plan->steps) {
    for (auto& condition : step.conditions) condition.holds = !condition.holds;
  }
  EXPECT_FALSE(cpu::CheckConditions(*plan).ok());
}

}  // namespace
}  // namespace lemma
