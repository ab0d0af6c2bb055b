// Results of the library as JSON.
#include <string>
#include <vector>

#include "api/json/check.h"
#include "api/json/costs.h"
#include "api/json/generate.h"
#include "api/json/inspect.h"
#include "api/json/optimize.h"
#include "api/json/proofs.h"
#include "api/json/rules.h"
#include "api/json/run.h"
#include "api/json/train.h"
#include "api/models/random_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTwice[] = "graph g(x: f32[2,3]) { a = relu(x) b = relu(a) return b }";

TEST(JsonTest, AModel) {
  const std::string text = ToJson(ModelOf(kTwice)).ToString();
  EXPECT_THAT(text, StartsWith("{\"graph\":\"g\",\"format\":"));
  EXPECT_THAT(text, HasSubstr("\"inputs\":[{\"name\":\"x\",\"type\":\"f32[2,3]\"}]"));
  EXPECT_THAT(text, HasSubstr("\"by_operator\":{\"relu\":{\"count\":2,"));
}

TEST(JsonTest, ARun) {
  const api::Model model = ModelOf(kTwice);
  api::RunOptions options;
  options.runs = 2;
  auto result = api::Run(model, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string text = ToJson(model, options, *result).ToString();
  EXPECT_THAT(text, StartsWith("{\"graph\":\"g\",\"backend\":\"cpu\",\"threads\":1,\"operators\":2,"
                               "\"median_ms\":"));
  EXPECT_THAT(text, Not(HasSubstr("\"kernels\"")));
}

TEST(JsonTest, AnOptimization) {
  const Graph graph = ModelOf(kTwice).graph;
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.runs = 3;
  options.why_not = "relu_of_relu";
  auto result = api::Optimize(graph, *api::RandomInputs(graph, 1, 2), options);
  ASSERT_TRUE(result.ok()) << result.status();
  api::OptimizeContext context;
  context.output = "out.onnx";
  context.excluded = "somebody forbade it";
  const std::string text = ToJson(graph, options, *result, context).ToString();
  EXPECT_THAT(text, StartsWith("{\"graph\":\"g\",\"output\":\"out.onnx\",\"certificate\":\"\","));
  EXPECT_THAT(text, HasSubstr("\"search_rules\":{\"relu_of_relu\":1}"));
  EXPECT_THAT(text, HasSubstr("\"why_not\":{\"rule\":\"relu_of_relu\",\"source\":\"relu + relu\""));
  EXPECT_THAT(text, HasSubstr("\"excluded\":\"somebody forbade it\",\"applied\":1"));
}

TEST(JsonTest, AnOptimizationThatKeepsTheInput) {
  const Graph graph = ModelOf("graph g(x: f32[2,3]) { y = relu(x) return y }").graph;
  api::OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  auto result = api::Optimize(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(ToJson(graph, options, *result, {}).ToString(),
              HasSubstr("\"kept_input\":true,\"why_kept\":\"no rule makes it faster\""));
}

TEST(JsonTest, AProofAndARefutation) {
  const Graph graph = ModelOf(kTwice).graph;
  auto proved = api::Prove(graph, graph);
  ASSERT_TRUE(proved.ok()) << proved.status();
  EXPECT_THAT(ToJson("a", "b", *proved).ToString(),
              StartsWith("{\"a\":\"a\",\"b\":\"b\",\"symbolic\":false,\"verdict\":\"proved\","
                         "\"contract\":\"bit_exact\""));
  auto refuted = api::Prove(graph, ModelOf("graph g(x: f32[2,3]) { y = neg(x) return y }").graph);
  ASSERT_TRUE(refuted.ok()) << refuted.status();
  const std::string text = ToJson("a", "b", *refuted).ToString();
  EXPECT_THAT(text, HasSubstr("\"verdict\":\"refuted\",\"values\":{"));
  EXPECT_THAT(text, HasSubstr("\"reason\":\"refuted: output 0[0,"));
  EXPECT_THAT(text, HasSubstr("\"ok\":false"));
}

TEST(JsonTest, ACheckWithAdvice) {
  api::CheckResult answer;
  answer.check.problem = "unknown rule";
  answer.check.step = 2;
  EXPECT_EQ(ToJson(answer, "; ask for it").ToString(),
            "{\"ok\":false,\"step\":2,\"problem\":\"unknown rule; ask for it\"}");
  api::PlanCheck plan;
  plan.proved = 1;
  plan.compared = 2;
  plan.by_definition = 3;
  EXPECT_THAT(ToJson(plan, "cpu").ToString(),
              HasSubstr("\"proved\":1,\"in_blocks\":0,\"compared\":2"));
  EXPECT_THAT(ToJson(plan, "cuda").ToString(), HasSubstr("\"launches\":5,\"compared\":2"));
}

TEST(JsonTest, CostsAndFigures) {
  api::DeviceCosts device;
  device.device = "cpu";
  device.kernels = 2;
  EXPECT_THAT(ToJson("c.sqlite", std::vector<api::DeviceCosts>{device}).ToString(),
              StartsWith("{\"file\":\"c.sqlite\",\"devices\":[{\"device\":\"cpu\",\"kernels\":2,"));
  generator::EnumeratorStats stats;
  stats.graphs = 7;
  EXPECT_THAT(api::ToJson(api::FiguresOf(stats), {1, 2}, {3, 4}).ToString(),
              testing::AllOf(StartsWith("{\"graphs\":7,"),
                             HasSubstr("\"enumeration_cpu_s\":1,\"cpu_s\":3,\"peak_mb\":4}")));
}

}  // namespace
}  // namespace lemma
