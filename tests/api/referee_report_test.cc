// The page of a verdict, and where it finds regions in both graphs.
#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/referee.h"
#include "api/report.h"
#include "api/report/alignment.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/api/html_page.h"

namespace lemma::api {
namespace {

using testing::HasSubstr;
using testing::Not;

RefereeResult Judge(const std::string& before, const std::string& after,
                    const RefereeOptions& options = {}) {
  auto a = ParseGraph(before), b = ParseGraph(after);
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  auto result = Referee(*a, *b, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

std::string PageOf(const RefereeResult& result) {
  auto page = ReportOf("a<b>.onnx", "fast.onnx", result);
  EXPECT_TRUE(page.ok()) << page.status();
  ExpectSelfContained(*page);
  return *std::move(page);
}

const char* Name(Standing standing) {
  constexpr const char* kNames[] = {"unsaid", "same", "proved", "open", "refuted", "behind"};
  return kNames[static_cast<int>(standing)];
}

// "relu: same 1, …" of the operators of a graph, where 1 is the number of the part.
std::string PlacesIn(const Graph& graph,
                     const absl::flat_hash_map<const Node*, PartOfOperator>& places) {
  std::vector<std::string> texts;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    auto it = places.find(node.get());
    const PartOfOperator place = it == places.end() ? PartOfOperator() : it->second;
    texts.push_back(absl::StrCat(node->op().name, ": ", Name(place.standing)));
    if (place.part >= 0) absl::StrAppend(&texts.back(), " ", place.part + 1);
  }
  return absl::StrJoin(texts, ", ");
}

// Both graphs, one line each.
std::string PlacesOf(const RefereeResult& result) {
  const Alignment alignment = Align(result.before, result.after, result.verdict);
  return absl::StrCat(PlacesIn(result.before, alignment.before), "\n",
                      PlacesIn(result.after, alignment.after));
}

constexpr char kTwice[] =
    "graph g(x: f32[2,3], w: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) {\n"
    "  p = matmul(x, w) a = relu(p) b = relu(a) y = neg(b) return y }";

TEST(AlignTest, WhatIsTheSameAndWhatIsProved) {
  const RefereeResult result =
      Judge(kTwice,
            "graph h(x: f32[2,3], v: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) {\n"
            "  p = matmul(x, v) a = relu(p) y = neg(a) return y }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kProved);
  EXPECT_EQ(PlacesOf(result),
            "matmul: same 1, relu: same 1, relu: proved 2, neg: proved 2\n"
            "matmul: same 1, relu: same 1, neg: proved 2");
}

// The names are those of the models, not those of the formula that explains a weight.
TEST(AlignTest, AFoldedWeight) {
  const RefereeResult result = Judge(
      "graph g(x: f32[2,2], w: weight f32[2,2] = [1.0, 2.0, 3.0, 5.0],\n"
      "        v: weight f32[2,2] = [0.5, 0.25, 7.0, 3.0]) {\n"
      "  a = matmul(x, w) y = matmul(a, v) return y }",
      "graph h(x: f32[2,2], u: weight f32[2,2] = [14.5, 6.25, 36.5, 15.75]) {\n"
      "  y = matmul(x, u) return y }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kProved) << Headline(result);
  EXPECT_EQ(PlacesOf(result), "matmul: proved 1, matmul: proved 1\nmatmul: proved 1");
  const AlignedPart part = Align(result.before, result.after, result.verdict).parts[0];
  EXPECT_THAT(part.before_operators, testing::ElementsAre("matmul", "matmul"));
  EXPECT_THAT(part.after_operators, testing::ElementsAre("matmul"));
}

TEST(AlignTest, AnOpenRegionBehindAnEqualValue) {
  RefereeOptions options;
  options.work = 1;  // no proof is found
  const RefereeResult result =
      Judge("graph g(x: f32[4]) { a = relu(x) b = neg(a) return b }",
            "graph h(x: f32[4]) { a = relu(x) m = relu(a) b = neg(m) return b }", options);
  ASSERT_EQ(result.verdict.answer, referee::Answer::kUnknown) << Headline(result);
  EXPECT_EQ(PlacesOf(result), "relu: same 1, neg: unsaid\nrelu: same 1, relu: open 2, neg: unsaid");
}

TEST(AlignTest, AnOperatorThatBecameAWeight) {
  const RefereeResult result = Judge(
      "graph g(x: f32[2,2], w: weight f32[2,2] = [1.0, 2.0, 3.0, 5.0]) {\n"
      "  v = matmul(w, w) u = neg(v) y = add(x, u) return y }",
      "graph h(x: f32[2,2], u: weight f32[2,2] = [-7.0, -12.0, -18.0, -31.0]) {\n"
      "  y = add(x, u) return y }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kProved) << Headline(result);
  EXPECT_EQ(PlacesOf(result), "matmul: proved 1, neg: proved 1, add: same 2\nadd: same 2");
  EXPECT_THAT(PageOf(result), HasSubstr("<td><b>u</b> matmul, neg</td><td><b>u</b> </td>"
                                        "<td>a weight now</td>"));
}

TEST(AlignTest, InputsInAnotherOrder) {
  const RefereeResult result =
      Judge("graph g(x: f32[2], z: f32[2]) { a = exp(x) b = sub(a, z) return b }",
            "graph h(z: f32[2], x: f32[2]) { a = exp(x) c = neg(z) b = add(a, c) return b }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kProved);
  EXPECT_EQ(PlacesOf(result),
            "exp: same 1, sub: proved 2\nexp: same 1, neg: proved 2, add: proved 2");
}

TEST(AlignTest, WhatDiffersAndWhatDependsOnIt) {
  const RefereeResult result =
      Judge("graph g(x: f32[8]) { a = exp(x) b = neg(a) c = tanh(b) return c }",
            "graph h(x: f32[8]) { a = exp(x) b = sin(a) c = tanh(b) return c }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kRefuted);
  const std::string places = PlacesOf(result);
  EXPECT_THAT(places, HasSubstr("neg: refuted"));
  EXPECT_THAT(places, HasSubstr("sin: refuted"));
  EXPECT_EQ(Count(places, "tanh: behind"), 2);
}

TEST(AlignTest, AnOperatorThatIsLost) {
  const RefereeResult result =
      Judge("graph g(x: f32[8]) { a = sin(x) b = relu(a) c = neg(b) return c }",
            "graph h(x: f32[8]) { a = sin(x) c = neg(a) return c }");
  ASSERT_EQ(result.verdict.answer, referee::Answer::kRefuted);
  EXPECT_THAT(PlacesOf(result), HasSubstr("relu: refuted"));
}

TEST(RefereeReportTest, Proved) {
  const RefereeResult result =
      Judge(kTwice,
            "graph h(x: f32[2,3], v: weight f32[2,3] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]) {\n"
            "  w = transpose(v) {perm = [1, 0]} p = matmul(x, w) b = relu(p) y = neg(b)"
            " return y }");
  const std::string page = PageOf(result);
  EXPECT_THAT(page, HasSubstr("<title>fast.onnx - Lemma</title>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"badge bit_exact\">proved</span> fast.onnx"));
  EXPECT_THAT(page, HasSubstr("<td>before</td><td>a&lt;b&gt;.onnx, 4 operators</td>"));
  EXPECT_THAT(page, HasSubstr("<td>contract</td><td>bit_exact</td>"));
  EXPECT_THAT(page, HasSubstr("<td>the shapes x: f32[2,3]"));
  EXPECT_THAT(page, HasSubstr("<td>w</td><td>copied</td>"));
  // A row and the operators that belong to it, by which the script finds them.
  EXPECT_THAT(page, HasSubstr("<tr id=\"part-0\" data-part=\"0\">"));
  EXPECT_THAT(page, HasSubstr("class=\"node toned same part_0\""));
  EXPECT_THAT(page, Not(HasSubstr("Where they differ")));
}

TEST(RefereeReportTest, Refuted) {
  const RefereeResult result =
      Judge(kTwice,
            "graph h(x: f32[2,3], w: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]) {\n"
            "  p = matmul(x, w) a = relu(p) y = neg(a) return y }");
  ASSERT_TRUE(result.verdict.refutation && result.verdict.refutation->pair);
  const std::string page = PageOf(result);
  EXPECT_THAT(page, HasSubstr("<span class=\"badge refuted\">refuted</span> fast.onnx"));
  EXPECT_THAT(page, HasSubstr(absl::StrCat("<p>", Headline(result), "</p>")));
  EXPECT_THAT(page, HasSubstr("<h2>Where they differ</h2>"));
  EXPECT_EQ(Count(page, "<div class=\"graph small\">"), 2);
  EXPECT_THAT(page, HasSubstr("<td>x0</td><td>f32["));
  EXPECT_THAT(page, HasSubstr("class=\"node toned refuted part_"));
}

// Equal by a law that the prover does not have.
TEST(RefereeReportTest, Unknown) {
  RefereeOptions options;
  options.work = 10000;
  const RefereeResult result =
      Judge("graph a(x: f32[5]) { y = softmax(x) {axis = 0} z = argmax(y) {axis = 0} return z }",
            "graph b(x: f32[5]) { z = argmax(x) {axis = 0} return z }", options);
  ASSERT_EQ(result.verdict.answer, referee::Answer::kUnknown);
  const std::string page = PageOf(result);
  EXPECT_THAT(page, HasSubstr("<span class=\"badge open\">unknown</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"badge open\">open</span></td><td><b>z</b>"));
  EXPECT_THAT(page, HasSubstr("class=\"node toned open part_0\""));
}

TEST(RefereeReportTest, AnotherInterface) {
  const RefereeResult result = Judge(kTwice, "graph h(x: f32[2,4]) { y = relu(x) return y }");
  const std::string page = PageOf(result);
  EXPECT_THAT(page, HasSubstr("<span class=\"badge refuted\">different interface</span>"));
  EXPECT_THAT(page, HasSubstr("<td>interface</td><td>input x is f32[2,3] before"));
  EXPECT_EQ(Count(page, ">relu</text>"), 3);  // both graphs are drawn
}

TEST(RefereeReportTest, DrawsNothingAfterTheDeadline) {
  const std::atomic<bool> interrupted{true};
  auto page = ReportOf("a.onnx", "b.onnx", Judge(kTwice, kTwice), Deadline::After(0, &interrupted));
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(Count(*page, "operators; not drawn: the time is up"), 2);
}

TEST(RefereeReportTest, EqualVerdictsGiveEqualPages) {
  RefereeResult result = Judge(kTwice, kTwice);
  const std::string page = PageOf(result);
  EXPECT_THAT(page, HasSubstr("4 operators that both have: matmul, relu, relu, neg"));
  EXPECT_EQ(page, PageOf(result));
}

}  // namespace
}  // namespace lemma::api
