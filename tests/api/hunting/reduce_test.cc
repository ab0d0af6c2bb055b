// Reductions of models, with tests of models that need no engine.
#include "api/hunting/reduce.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "api/hunting/draft.h"
#include "api/hunting/simpler.h"
#include "api/models/random_values.h"
#include "graph/op_table.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma::hunt {
namespace {

Subject SubjectOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  Subject subject;
  subject.graph = *std::move(graph);
  subject.inputs = *api::RandomInputs(subject.graph, 1, 2);
  return subject;
}

bool Has(const Graph& graph, const std::string& op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const NodePtr& node) { return node->IsOp(op); });
}

// The text of the smallest subject that a test accepts.
std::string ReducedText(const std::string& text, const std::function<bool(const Subject&)>& test) {
  return PrintGraph(Reduced(SubjectOf(text), test, {}).graph);
}

constexpr char kLayer[] =
    "graph g(x: f32[2,8,5,5], w: f32[4,8,3,3], b: f32[4]) {\n"
    "  c = conv2d(x, w, b) {pads = [1, 1, 1, 1], strides = [2, 2]}\n"
    "  r = relu(c)\n  t = transpose(r) {perm = [0, 2, 3, 1]}\n  y = tanh(t)\n  return y, r }";

TEST(ReduceTest, KeepsTheOperatorThatMatters) {
  EXPECT_EQ(ReducedText(kLayer, [](const Subject& s) { return Has(s.graph, "relu"); }),
            "graph model(x0: f32[1,1,1,1]) {\n  y0 = relu(x0)\n  return y0\n}\n");
}

TEST(ReduceTest, LeavesOutWhatIsOptional) {
  const std::string text =
      ReducedText(kLayer, [](const Subject& s) { return Has(s.graph, "conv2d"); });
  EXPECT_EQ(text, "graph model(x0: f32[1,1,1,1]) {\n  y0 = conv2d(x0, x0)\n  return y0\n}\n");
}

TEST(ReduceTest, KeepsTwoOperatorsInTheirOrder) {
  const std::string text = ReducedText(
      kLayer, [](const Subject& s) { return Has(s.graph, "conv2d") && Has(s.graph, "transpose"); });
  EXPECT_EQ(std::count(text.begin(), text.end(), '='), 3 + 0) << text;  // and one attribute
}

TEST(ReduceTest, KeepsTheSizeThatMatters) {
  const auto test = [](const Subject& s) {
    return Has(s.graph, "relu") && s.graph.outputs()[0].type().num_elements() >= 3;
  };
  const Subject reduced = Reduced(SubjectOf(kLayer), test, {});
  EXPECT_EQ(reduced.graph.num_ops(), 1);
  EXPECT_LE(reduced.graph.outputs()[0].type().num_elements(), 4) << PrintGraph(reduced.graph);
}

TEST(ReduceTest, KeepsTheValuesThatMatter) {
  const auto test = [](const Subject& s) {
    const std::vector<double> x =
        s.inputs.empty() ? std::vector<double>() : s.inputs[0].ToDoubles();
    return std::any_of(x.begin(), x.end(), [](double v) { return v < 0; });
  };
  const Subject reduced =
      Reduced(SubjectOf("graph g(x: f32[9]) { y = abs(x) return y }"), test, {});
  ASSERT_EQ(reduced.inputs.size(), 1);
  EXPECT_EQ(reduced.inputs[0].ToDoubles(), std::vector<double>{-1});
}

TEST(ReduceTest, EndsWhenAResultIsNotUsed) {
  // Each of the results of a split could take the place of another for ever.
  const std::string text = ReducedText(
      "graph g(x: f32[4]) { a, b = split(x) {axis = 0, sizes = [2, 2]} y = add(a, b) return y }",
      [](const Subject& s) { return Has(s.graph, "split"); });
  EXPECT_NE(text.find("split"), std::string::npos);
}

TEST(ReduceTest, StopsAtTheLimit) {
  int tests = 0;
  ReduceOptions options;
  options.most_tests = 5;
  Reduced(
      SubjectOf(kLayer), [&](const Subject&) { return ++tests % 2 == 0; }, options);
  EXPECT_LE(tests, 5);
}

TEST(SimplerTest, OrdersNumbers) {
  const double ordered[] = {0, 1, 2, -2, 3, 0.5, 0.3, INFINITY};
  for (size_t i = 1; i < std::size(ordered); ++i) {
    EXPECT_LT(Complexity(ordered[i - 1]), Complexity(ordered[i])) << ordered[i];
  }
}

TEST(SimplerTest, TriesTheDefaultOfAnAttribute) {
  const AttrSpec* strides = FindOp("conv2d")->FindAttr("strides");
  const AttrValue two = std::vector<int64_t>{2, 2}, one = std::vector<int64_t>{1, 1};
  EXPECT_EQ(SimplerAttrs(two, *strides).front(), one);
  EXPECT_TRUE(SimplerAttrs(one, *strides).empty());
}

TEST(DraftTest, CropsTheLeadingPart) {
  const Tensor tensor = *Tensor::FromDoubles({DType::kI32, {2, 3}}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Cropped(tensor, {2, 2}).ToInts(), (std::vector<int64_t>{1, 2, 4, 5}));
}

}  // namespace
}  // namespace lemma::hunt
