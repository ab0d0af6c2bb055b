#include "api/inspect.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

constexpr char kChain[] =
    "graph g(x: f32[64,64], w: weight f32[64,64] = fill 0.5) {\n"
    "  a = matmul(x, w)\n  b = matmul(a, w)\n  c = softmax(b) {axis = 1}\n  d = matmul(c, w)\n  "
    "return d }";

TEST(InspectTest, SaysWhatAnOperatorComputes) {
  const auto operators = api::ListOperators();
  EXPECT_GT(operators.size(), 50u);
  EXPECT_EQ(operators[0].signature, "einsum(x…)");
  EXPECT_EQ(operators[0].group, "linear algebra");
  auto page = api::OperatorPage("matmul");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(absl::StartsWith(*page, "### matmul(x, w)\n\n```\ny[b…,i,j] = sum(k < K)")) << *page;
  EXPECT_EQ(api::OperatorPage("matmull").status().message(),
            "there is no operator matmull; did you mean matmul?");
}

TEST(InspectTest, CountsOperatorsAndWeights) {
  const api::Model model = ModelOf(kChain);
  const auto operators = api::OperatorsOf(model.graph);
  ASSERT_EQ(operators.size(), 2u);
  EXPECT_EQ(operators.at("matmul").count, 3);
  EXPECT_EQ(operators.at("matmul").flops, 3 * 2.0 * 64 * 64 * 64);
  EXPECT_EQ(api::WeightBytes(model.graph), 64 * 64 * 4);
}

TEST(InspectTest, SaysWhatLivesAtThePeak) {
  const api::Model model = ModelOf(kChain);
  auto memory = api::MemoryOf(model, {});
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_FALSE(memory->kernels.empty());
  EXPECT_EQ(memory->live_bytes, memory->kernels[memory->peak].live_bytes);
  for (const auto& kernel : memory->kernels) EXPECT_LE(kernel.live_bytes, memory->live_bytes);
  int64_t bytes = 0;
  for (const auto& value : memory->at_peak) {
    EXPECT_LE(value.first, memory->peak);
    EXPECT_GE(value.last, memory->peak);
    bytes += value.bytes;
  }
  EXPECT_EQ(bytes, memory->live_bytes);
  EXPECT_EQ(memory->at_peak.size(), 2u);  // an operand and the result
  EXPECT_GE(memory->arena_bytes, memory->live_bytes);
  auto plan = api::PlanOf(model, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->memory.planned_bytes, memory->arena_bytes);
}

TEST(InspectTest, ErrorsNameTheOptionOrTheModel) {
  api::Model model = ModelOf(kChain);
  model.path = "chain.lemma";
  api::ExecutionOptions execution;
  execution.backend = "reference";
  EXPECT_EQ(api::MemoryOf(model, execution).status().message(),
            "option backend: the back end reference makes no plan");
  EXPECT_TRUE(absl::StartsWith(api::PlanOf(model, execution).status().message(), "chain.lemma: "));
}

}  // namespace
}  // namespace lemma
