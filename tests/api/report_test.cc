#include "api/report.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "api/models/random_values.h"
#include "api/report/blocks.h"
#include "api/report/page.h"
#include "api/report/words.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/api/html_page.h"
#include "tests/api/model_text.h"

namespace lemma::api {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Substitution Rule(const std::string& text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->front();
}

Report Example() {
  Report report;
  report.title = "dir/a<b>.onnx";
  report.summary.ms_before = 2;
  report.summary.ms_after = 1.5;
  report.summary.ratio = RatioInterval{0.7, 0.75, 0.8};
  report.summary.runs = 15;
  report.summary.peak_before = 1000;
  report.summary.peak_after = 500;
  report.summary.contract = FloatContract::kBitExact;
  report.summary.output = "my out.onnx";
  report.summary.certificate = "out.cert";
  report.summary.certificate_sha256 = "5e4a";
  report.summary.command = {"lemma", "optimize", "a<b>.onnx"};
  report.summary.date = "2026-01-31 12:00 UTC";
  report.facts = {{"numerics", "reassociate & more"}};
  report.before.graph =
      Parse("graph g(x: f32[2,3]) { a = relu(x) b = neg(a) c = neg(b) d = tanh(c) return d }");
  report.after.graph = Parse("graph g(x: f32[2,3]) { a = relu(x) d = tanh(a) return d }");
  report.before.kernels = {{"element-wise", "d", 0.5, "", "", {24, 24, 24}},
                           {"copy", "d", 0.25, "", "", {}}};
  report.after.kernels = {{"element-wise", "d", 0.125, "", "", {24, 24, 24}}};
  report.before.live_bytes = {24, 48, 48};
  report.after.live_bytes = {24, 24};
  report.roofline = Roofline{1e9, 1e9};
  report.predicted_ms = 1;
  report.steps = {{"neg_neg", "x = a", 0.5, {2, 3}, {}}};
  report.rules = {
      Rule("rule neg_neg(x: [s..]) bit_exact { a = neg(x) b = neg(a) return b } => { return x }")};
  return report;
}

// What the page's script reads.
std::string DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin);
  EXPECT_NE(at, std::string::npos);
  return page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size());
}

std::string PageOf(const Report& report) {
  auto page = ReportPage(report);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *page : "";
}

TEST(ReportTest, DrawsNothingAfterTheDeadline) {
  const std::atomic<bool> interrupted{true};
  auto page = ReportPage(Example(), Deadline::After(0, &interrupted));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, "Not drawn: the time is up"), 2);
  EXPECT_THAT(*page, Not(HasSubstr(">tanh</text>")));
  EXPECT_THAT(*page, HasSubstr("-0.500 ms"));
}

TEST(ReportTest, ShowsBothGraphsAndMarksWhatDiffers) {
  const std::string page = PageOf(Example());
  EXPECT_EQ(Count(page, " changed\">"), 2);  // the two negations
  EXPECT_THAT(page, HasSubstr("class=\"node op_1 changed\""));
  EXPECT_THAT(page, HasSubstr("class=\"node op_2 changed\""));
  EXPECT_EQ(Count(page, ">tanh</text>"), 2);
  EXPECT_THAT(page, HasSubstr("reassociate &amp; more"));
  EXPECT_THAT(page, HasSubstr("-0.500 ms"));
  ExpectSelfContained(page);
}

TEST(ReportTest, EqualReportsGiveEqualPages) {
  EXPECT_TRUE(PageOf(Example()) == PageOf(Example()));  // pages are too long to be printed
}

TEST(ReportTest, BeginsWithASummary) {
  const std::string page = PageOf(Example());
  const std::string top = page.substr(0, page.find("Graphs and steps"));
  EXPECT_THAT(top, HasSubstr("<h1>a&lt;b&gt;.onnx</h1>"));
  EXPECT_THAT(top, HasSubstr("25.0 % less time, 50.0 % less memory and 2 operators fewer."));
  EXPECT_THAT(top, HasSubstr("2.000 ms → </span>1.500 ms"));
  EXPECT_THAT(top, HasSubstr("with 95 % confidence 20.0 % to 30.0 % less; 15 runs of each"));
  EXPECT_THAT(top, HasSubstr("2 negations removed"));
  EXPECT_THAT(top, HasSubstr("same bits (contract bit_exact)"));
  EXPECT_THAT(top, HasSubstr("0 of 1 steps proved"));  // the rule has no record
  EXPECT_THAT(top, HasSubstr("lemma check 'dir/a&lt;b&gt;.onnx' 'my out.onnx' "
                             "out.cert"));
  EXPECT_THAT(top, HasSubstr("SHA-256 5e4a"));
  EXPECT_THAT(top, HasSubstr("lemma optimize 'a&lt;b&gt;.onnx'"));
  EXPECT_THAT(top, HasSubstr("2026-01-31 12:00 UTC"));
}

TEST(ReportTest, FewRunsGiveNoConfidence) {
  Report report = Example();
  report.summary.runs = 5;
  const std::string page = PageOf(report);
  EXPECT_THAT(page, Not(HasSubstr("95 %")));
  EXPECT_THAT(page, HasSubstr("between the runs: 20.0 % to 30.0 % less"));
}

TEST(ReportTest, NoiseIsNoGain) {
  Report report = Example();
  report.summary.ratio = RatioInterval{0.9, 0.95, 1.1};
  const std::string page = PageOf(report);
  EXPECT_THAT(page, HasSubstr("No sure difference in time, 50.0 % less memory and 2 operators"));
  EXPECT_THAT(page,
              HasSubstr("no sure difference: with 95 % confidence 10.0 % less to 10.0 % more"));
  EXPECT_THAT(page, Not(HasSubstr("5.0 % less time")));
}

TEST(ReportTest, OfAKeptModelShowsNoGain) {
  Report report = Example();
  report.after = report.before;
  report.steps.clear();
  report.rules.clear();
  report.summary.kept_input = true;
  report.summary.why_kept = "what the search found was not surely faster";
  report.summary.ms_after = report.summary.ms_before;
  report.summary.peak_after = report.summary.peak_before;
  report.summary.ratio = RatioInterval{0.98, 0.99, 1.02};
  const std::string page = PageOf(report);
  EXPECT_THAT(page, HasSubstr("Kept as it was: what the search found was not surely faster."));
  EXPECT_THAT(page, Not(HasSubstr("1.0 % less")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"was\">")));
  EXPECT_THAT(page, Not(HasSubstr("id=\"player\"")));
  EXPECT_THAT(page, HasSubstr("None: the input is kept."));
}

TEST(ReportTest, GivesTheScriptItsData) {
  const std::string data = DataOf(PageOf(Example()));
  EXPECT_THAT(data, StartsWith("{\"before\":"));
  // Two kernels compute d: 0.5 ms and 0.25 ms. At the roofline 72 bytes and operations take 48 ns.
  EXPECT_THAT(data, HasSubstr("\"op\":\"tanh\",\"types\":[\"f32[2,3]\"],\"name\":\"d\",\"reads\":["
                              "{\"type\":\"f32[2,3]\",\"name\":\"c\",\"op\":2}],\"kernels\":[0,1],"
                              "\"time\":\"0.750 ms\",\"share\":\"100.0 %\",\"roof\":\"0 %\"}"));
  // The negations have no kernel of their own and go with d.
  EXPECT_EQ(Count(data, "\"with\":3,\"steps\":[0],\"changed\":true"), 2);
  EXPECT_THAT(data, HasSubstr("\"rule\":\"neg_neg\",\"where\":\"x = a\",\"time\":\"0.500 ms\","
                              "\"change\":\"-0.500 ms\",\"before\":[1,2],\"after\":[]"));
  EXPECT_THAT(data, HasSubstr("\"neg_neg\":{\"words\":\"2 negations removed\""));
}

TEST(ReportTest, EscapesTextsOfTheModel) {
  Report report = Example();
  report.steps[0].where = "</script><b>&\"";
  report.before.kernels[0].kernel = "</script><i>";
  const std::string page = PageOf(report);
  EXPECT_EQ(Count(page, "</script>"), 2);  // of the data and of the code
  EXPECT_EQ(Count(page, "<b>&"), 0);
  EXPECT_EQ(Count(page, "<i>"), 0);
  EXPECT_THAT(DataOf(page), HasSubstr("\\u003c/script>\\u003cb>&\\\""));
}

TEST(ReportTest, PlotsHaveAxesWithUnits) {
  const std::string page = PageOf(Example());
  EXPECT_THAT(page, HasSubstr("time of kernels, ms"));
  EXPECT_EQ(Count(page, "data-side=\"before\" data-kernel=\"0\""), 2);  // in two plots
  EXPECT_EQ(Count(page, "<circle class=\"before\""), 1);  // the copy's work is not known
  EXPECT_THAT(page, HasSubstr("operations per byte"));
  EXPECT_THAT(page, HasSubstr("operators that have run"));
  EXPECT_THAT(page, HasSubstr("before, at most 48 B"));
}

// The beginning of a graph of 1000 operators; the last value is v999.
std::string LongText() {
  std::string text = "graph g(x: f32[2]) { v0 = relu(x)";
  for (int i = 1; i < 1000; ++i) {
    text += " v" + std::to_string(i) + " = sin(v" + std::to_string(i - 1) + ")";
  }
  return text;
}

TEST(ReportTest, OfALargeGraphFoldsWhatRepeats) {
  Report report = Example();
  report.before.graph = Parse(LongText() + " w = tanh(v999) return w }");
  report.after.graph = Parse(LongText() + " w = exp(v999) return w }");
  const std::string page = PageOf(report);
  EXPECT_EQ(Count(page, ">block × 999</text>"), 2);
  EXPECT_EQ(Count(page, ">sin</text>"), 4);  // in the box of each, and in its opened block
  EXPECT_EQ(Count(page, ">tanh</text>"), 1);
  EXPECT_EQ(Count(page, "<template data-block=\"0\">"), 2);
  EXPECT_THAT(DataOf(page), HasSubstr("\"name\":\"block × 999\",\"first\":1,\"period\":1,"
                                      "\"copies\":999"));
}

// `copies` blocks a + (a + 1), each of which ends in `end`.
std::string BlocksText(int copies, const std::string& end) {
  std::string text = "graph g(x: f32[2]) { v0 = relu(x)";
  for (int i = 0; i < copies; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    text += " a" + from + " = neg(v" + from + ") b" + from + " = sin(a" + from + ") v" + to +
            " = " + end + "(a" + from + ", b" + from + ")";
  }
  return text + " return v" + std::to_string(copies) + " }";
}

TEST(BlocksTest, FindsBlocksOfEqualWiring) {
  const std::vector<Block> blocks = BlocksOf(Parse(BlocksText(5, "add")), 150);
  ASSERT_EQ(blocks.size(), 1);
  EXPECT_EQ(blocks[0].first, 1);
  EXPECT_EQ(blocks[0].period, 3);
  EXPECT_EQ(blocks[0].copies, 5);
}

TEST(BlocksTest, OtherWiringIsNoCopy) {
  const Graph graph = Parse(
      "graph g(x: f32[2]) { a = neg(x) b = sin(a) c = add(a, b) d = neg(c) e = sin(d) "
      "f = add(e, e) g = neg(f) h = sin(g) i = add(h, h) return i }");
  for (const Block& block : BlocksOf(graph, 150)) EXPECT_GE(block.first, 3);
}

TEST(BlocksTest, AGraphWithoutCopiesIsCutIntoRuns) {
  std::string text = "graph g(x: f32[2]) { v0 = relu(x)";
  for (int i = 1; i < 3000; ++i) {  // the number decides: no two operators are equal
    text += " v" + std::to_string(i) + " = scalar_mul(v" + std::to_string(i - 1) +
            ") {alpha = " + std::to_string(i) + ".0}";
  }
  const std::vector<Block> blocks = BlocksOf(Parse(text + " return v2999 }"), 150);
  EXPECT_LE(blocks.size(), 150);
  int covered = 0, end = 0;
  for (const Block& block : blocks) {
    EXPECT_EQ(block.copies, 1);
    EXPECT_GE(block.first, end);
    end = block.end();
    covered += block.period;
  }
  EXPECT_GE(covered, 2900);
}

TEST(WordsTest, SayWhatARuleDid) {
  const char* fold = R"(rule fold(x: [n,c], f: weight [c,k], s: weight [k]) reassociates {
    y = matmul(x, f) z = mul(y, s) return z
  } => { g = mul(f, s) z = matmul(x, g) return z })";
  EXPECT_EQ(WordsOf(Rule(fold), 53), "53 multiplications folded into matrix products");
  EXPECT_EQ(WordsOf(Rule(fold), 1), "1 multiplication folded into a matrix product");
  const char* twice = R"(rule twice(x: [s..]) bit_exact {
    y = relu(x) z = relu(y) return z
  } => { z = relu(x) return z })";
  EXPECT_EQ(WordsOf(Rule(twice), 2), "4 ReLUs merged into 2 ReLUs");
  const char* weights = R"(rule weights(x: [n,c], f: weight [c,k], s: weight [k]) reassociates {
    y = matmul(x, f) u = mul(y, s) v = relu(u) w = neg(v) z = add(w, s) return z
  } => { g = mul(f, s) y = matmul(x, g) v = relu(y) w = neg(v) z = add(w, s) return z })";
  EXPECT_EQ(WordsOf(Rule(weights), 2), "2 multiplications folded into weights");
  const char* other = R"(rule other(x: [s..], y: [t..]) bit_exact {
    n = neg(y) z = add(x, n) return z
  } => { z = sub(x, y) return z })";
  EXPECT_EQ(WordsOf(Rule(other), 1), "1 addition and 1 negation replaced by 1 subtraction");
}

TEST(WordsTest, QuoteForAShell) {
  EXPECT_EQ(ShellText({"lemma", "a b", "it's", "", "--x=1"}), "lemma 'a b' 'it'\\''s' '' --x=1");
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

// The page of a graph with symbolic sizes is of the first hint's; that of a file has its hash.
TEST(ReportTest, IsPreparedAsAFile) {
  GraphBuilder builder("g");
  const Value x = builder.Input("x", {DType::kF32, {*ToSize(SymbolicDim("n"))}});
  builder.Output("y", *builder.Op("relu", {*builder.Op("relu", {x})}));
  const Graph graph = *std::move(builder).Build();
  OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  options.hints = {{{{"n", 48}}, 1}, {{{"n", 3}}, 1}};
  auto result = Optimize(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string path = NewTestFolder() + "/page.html";
  auto certificate = StagedFile::Write(path + ".cert", {"steps"});
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  auto staged = StageReport(graph, {}, options, *result, {"in.onnx", "out.onnx", "out.cert"},
                            &*certificate, path);
  ASSERT_TRUE(staged.ok()) << staged.status();
  std::vector<StagedFile> files;
  files.push_back(*std::move(staged));
  ASSERT_TRUE(CommitAll(std::move(files)).ok());
  auto page = ReadFile(path, 1 << 24);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("f32[48]"));
  EXPECT_THAT(*page, HasSubstr("SHA-256 b7595e2a863957fc6c225ed540d335dd"));
  EXPECT_THAT(*page, HasSubstr(" UTC</dd>"));
}

// The data of the page on an optimization of the graph that does not depend on times.
std::string DataOfResult(const std::string& text) {
  const Graph graph = ModelOf(text).graph;
  OptimizeOptions options;
  options.costs.measured = false;
  options.by_price = true;
  auto result = Optimize(graph, {}, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return "";
  auto page = ReportOf(graph, {}, options, *result, {"in.onnx", "out.onnx"});
  EXPECT_TRUE(page.ok()) << page.status();
  if (!page.ok()) return "";
  EXPECT_THAT(*page, HasSubstr("<p class=\"note\">Not executed.</p>"));
  return DataOf(*page);
}

TEST(ReportTest, TellsWhereAStepTookPlace) {
  // The first relu stays.
  const std::string relus =
      DataOfResult("graph g(x: f32[64,64]) { a = relu(x) b = relu(a) c = neg(b) return c }");
  EXPECT_THAT(relus, HasSubstr("\"rule\":\"relu_of_relu\""));
  EXPECT_THAT(relus, HasSubstr("\"before\":[1],\"after\":[]"));
  // In whatever order, each step removes two negations that are its own, although negations become
  // equal in between.
  const std::string negations = DataOfResult(
      "graph g(x: f32[64,64]) "
      "{ a = neg(x) b = neg(a) c = neg(b) d = neg(c) e = relu(d) return e }");
  EXPECT_THAT(negations, HasSubstr("\"before\":[0,1],\"after\":[]"));
  EXPECT_THAT(negations, HasSubstr("\"before\":[2,3],\"after\":[]"));
}

}  // namespace
}  // namespace lemma::api
