#include "api/draw.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DrawTest, QuotesNames) {
  auto svg = api::DotToSvg("digraph \"a\\\"b\" { n0 [label=\"x < y\"] }");
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(svg->find("<svg"), 0u);
  EXPECT_THAT(*svg, HasSubstr("x &lt; y"));
  EXPECT_FALSE(api::DotToSvg("digraph {").ok());
}

TEST(DrawTest, DrawsWhatIsShown) {
  const Graph graph = ModelOf("graph g(x: f32[2]) { a = relu(x) b = tanh(a) return b }").graph;
  EXPECT_THAT(api::GraphToDot(graph), HasSubstr("relu"));
  api::DotOptions options;
  options.shown = [](const Node& node) { return node.is_op() && node.op().name == "tanh"; };
  const std::string dot = api::GraphToDot(graph, options);
  EXPECT_THAT(dot, HasSubstr("tanh"));
  EXPECT_THAT(dot, Not(HasSubstr("relu")));
}

}  // namespace
}  // namespace lemma
