#include "api/report.h"

#include <atomic>
#include <string>

#include "api/models/random_values.h"
#include "api/report/page.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/api/html_page.h"
#include "tests/api/model_text.h"

namespace lemma::api {
namespace {

using testing::HasSubstr;
using testing::Not;

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Report Example() {
  Report report;
  report.title = "a<b>.onnx";
  report.facts = {{"numerics", "reassociate & more"}};
  report.before.graph =
      Parse("graph g(x: f32[2,3]) { a = relu(x) b = neg(a) c = neg(b) d = tanh(c) return d }");
  report.after.graph = Parse("graph g(x: f32[2,3]) { a = relu(x) d = tanh(a) return d }");
  report.before.kernels = {{"element-wise", "d", 0.5, "", ""}, {"copy", "d", 0.25, "", ""}};
  report.after.kernels = {{"element-wise", "d", 0.125, "", ""}};
  report.before.live_bytes = {24, 48, 48};
  report.predicted_ms = 1;
  report.steps = {{"neg_neg", "x = a", 0.5}};
  return report;
}

TEST(ReportTest, DrawsNothingAfterTheDeadline) {
  const std::atomic<bool> interrupted{true};
  auto page = ReportPage(Example(), Deadline::After(0, &interrupted));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, "operators; not drawn: the time is up"), 2);
  EXPECT_THAT(*page, Not(HasSubstr(">tanh</text>")));
  EXPECT_THAT(*page, HasSubstr("-0.5000 ms"));
}

TEST(ReportTest, ShowsBothGraphsAndMarksWhatDiffers) {
  auto page = ReportPage(Example());
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, "class=\"node changed\""), 2);  // the two negations
  EXPECT_EQ(Count(*page, ">tanh</text>"), 2);
  EXPECT_THAT(*page, HasSubstr("a&lt;b&gt;.onnx"));
  EXPECT_THAT(*page, HasSubstr("reassociate &amp; more"));
  EXPECT_THAT(*page, HasSubstr("-0.5000 ms"));
  ExpectSelfContained(*page);
}

TEST(ReportTest, EqualReportsGiveEqualPages) {
  EXPECT_EQ(*ReportPage(Example()), *ReportPage(Example()));
}

// The beginning of a graph of 1000 operators; the last value is v999.
std::string LongText() {
  std::string text = "graph g(x: f32[2]) { v0 = relu(x)";
  for (int i = 1; i < 1000; ++i) {
    text += " v" + std::to_string(i) + " = sin(v" + std::to_string(i - 1) + ")";
  }
  return text;
}

TEST(ReportTest, OfALargeGraphDrawsWhatChanged) {
  Report report = Example();
  report.before.graph = Parse(LongText() + " w = tanh(v999) return w }");
  report.after.graph = Parse(LongText() + " w = exp(v999) return w }");
  auto page = ReportPage(report);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, ">sin</text>"), 2);  // the operand of each
  EXPECT_EQ(Count(*page, ">tanh</text>"), 1);
}

TEST(ReportTest, OfALargeGraphWithoutAChangeDrawsNothing) {
  Report report = Example();
  report.before.graph = report.after.graph = Parse(LongText() + " return v999 }");
  auto page = ReportPage(report);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, "1000 operators; not drawn: there are more than 800, and none is marked"),
            2);
}

TEST(ReportTest, TellsOfAnOptimization) {
  const Graph graph =
      ModelOf("graph g(x: f32[2,3]) { a = relu(x) b = relu(a) c = neg(b) return c }").graph;
  const auto inputs = *RandomInputs(graph, 1, 2);
  OptimizeOptions options;
  options.costs.measured = false;
  options.runs = 3;
  options.objective.goal = optimizer::Objective::Goal::kMemory;
  auto result = Optimize(graph, inputs, options);
  ASSERT_TRUE(result.ok()) << result.status();
  auto page = ReportOf(graph, inputs, options, *result, {"in.onnx", "out.onnx"});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("<h1>in.onnx</h1>"));
  EXPECT_THAT(*page, HasSubstr("<td>written to</td><td>out.onnx</td>"));
  EXPECT_THAT(*page, HasSubstr("<td>numerics</td><td>reassociate</td>"));
  EXPECT_THAT(*page, HasSubstr("<td>objective</td><td>memory</td>"));
}

}  // namespace
}  // namespace lemma::api
