#include "runtime/plan/node_traits.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/op_examples.h"

namespace lemma {
namespace {

// The traits of the application that makes y.
NodeTraits TraitsOf(const std::string& inputs, const std::string& application) {
  auto graph = ParseGraph("graph g(" + inputs + ") { y = " + application + " return y }");
  EXPECT_TRUE(graph.ok()) << graph.status();
  NodeTraitsCache cache;
  return cache.Of(graph->outputs()[0].node());
}

TEST(NodeTraitsTest, AConcatenationIsReadOffItsDefinition) {
  EXPECT_EQ(TraitsOf("a: f32[2,3], b: f32[4,3]", "concat(a, b) {axis = 0}").concat_dim, 0);
  EXPECT_EQ(
      TraitsOf("a: f32[2,3], b: f32[2,1], c: f32[2,5]", "concat(a, b, c) {axis = -1}").concat_dim,
      1);
  EXPECT_EQ(TraitsOf("a: i64[2,0], b: i64[2,3]", "concat(a, b) {axis = 1}").concat_dim, 1);
  EXPECT_EQ(TraitsOf("a: f32[2,3]", "concat(a, a) {axis = 0}").concat_dim, 0);
  EXPECT_EQ(TraitsOf("a: f32[2,3]", "concat(a) {axis = 0}").concat_dim, std::nullopt);
}

TEST(NodeTraitsTest, NoOtherOperatorIsAConcatenation) {
  int concatenations = 0;
  for (const OpExample& example : AllExamples()) {
    GraphBuilder builder("g");
    std::vector<Value> inputs;
    for (const TensorType& type : example.inputs) {
      inputs.push_back(builder.Input(absl::StrCat("x", inputs.size()), type));
    }
    const auto outputs = builder.Ops(example.op->name, inputs, example.attrs);
    ASSERT_TRUE(outputs.ok()) << example << ": " << outputs.status();
    NodeTraitsCache cache;
    const bool is_concat = cache.Of(outputs->front().node()).concat_dim.has_value();
    EXPECT_EQ(is_concat, example.op->name == "concat" && inputs.size() > 1) << example;
    concatenations += is_concat ? 1 : 0;
  }
  EXPECT_GT(concatenations, 2);
}

TEST(NodeTraitsTest, AScalarConditionChooses) {
  const std::string inputs = "c: bool[], d: bool[2], a: f32[2], b: f32[2]";
  const auto choice = TraitsOf(inputs, "where(c, a, b)").choice;
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->condition, 0);
  using Side = Choice::Side;
  EXPECT_EQ(choice->sides, (std::vector<Side>{Side::kBoth, Side::kThen, Side::kElse}));
  EXPECT_FALSE(TraitsOf(inputs, "where(d, a, b)").choice);
  EXPECT_FALSE(TraitsOf(inputs, "add(a, b)").choice);
}

}  // namespace
}  // namespace lemma
