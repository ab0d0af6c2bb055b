#include "runtime/plan/node_traits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

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

bool SelectsLargest(const std::string& inputs, const std::string& application) {
  return TraitsOf(inputs, application).selects_largest;
}

TEST(NodeTraitsTest, AMaximumIsReadOffItsDefinition) {
  EXPECT_TRUE(SelectsLargest("x: f32[1,4,9,9]", "max_pool2d(x) {kernel = [3,3]}"));
  EXPECT_TRUE(SelectsLargest(
      "x: u8[1,4,9,8]",
      "max_pool2d(x) {kernel = [3,2], strides = [2,3], pads = [1,1,2,0], ceil_mode = 1}"));
  EXPECT_TRUE(SelectsLargest("x: i8[3,4]", "reduce_max(x) {axes = [1]}"));
  EXPECT_FALSE(SelectsLargest("x: f32[3,4]", "reduce_min(x) {axes = [1]}"));
  EXPECT_FALSE(SelectsLargest("x: f32[3,4]", "reduce_sum(x) {axes = [1]}"));
  EXPECT_FALSE(SelectsLargest("x: f32[3,4], z: f32[3,4]", "max(x, z)"));
  // Windows without an element: in the middle, and at one end.
  EXPECT_FALSE(SelectsLargest(
      "x: f32[1,1,1,3]", "max_pool2d(x) {kernel = [2,1], dilations = [3,1], pads = [2,0,2,0]}"));
  EXPECT_FALSE(SelectsLargest(
      "x: f32[1,1,3,2]", "max_pool2d(x) {kernel = [1,2], dilations = [1,4], pads = [0,4,0,4]}"));
}

TEST(NodeTraitsTest, NoOtherOperatorIsAMaximum) {
  int maxima = 0;
  for (const OpExample& example : AllExamples()) {
    GraphBuilder builder("g");
    std::vector<Value> inputs;
    for (const TensorType& type : example.inputs) {
      inputs.push_back(builder.Input(absl::StrCat("x", inputs.size()), type));
    }
    const auto outputs = builder.Ops(example.op->name, inputs, example.attrs);
    ASSERT_TRUE(outputs.ok()) << example << ": " << outputs.status();
    NodeTraitsCache cache;
    if (!cache.Of(outputs->front().node()).selects_largest) continue;
    ++maxima;
    EXPECT_TRUE(example.op->name == "max_pool2d" || example.op->name == "reduce_max") << example;
  }
  EXPECT_GT(maxima, 2);
}

bool Reshapes(const std::string& inputs, const std::string& application) {
  return TraitsOf(inputs, application).reshapes;
}

TEST(NodeTraitsTest, AReshapeIsReadOffItsDefinition) {
  const std::string x = "x: f32[4,3,1,10]";
  EXPECT_TRUE(Reshapes(x, "reshape(x) {shape = [2,6,10]}"));
  EXPECT_TRUE(Reshapes(x, "reshape(x) {shape = [6,2,5,2]}"));
  EXPECT_TRUE(Reshapes(x, "reshape(x) {shape = [120]}"));
  EXPECT_TRUE(Reshapes(x, "transpose(x) {perm = [0,2,1,3]}"));  // moves a dimension of size 1
  EXPECT_TRUE(Reshapes("x: f32[0,3]", "reshape(x) {shape = [2,0]}"));
  EXPECT_TRUE(Reshapes("x: f32[1,1]", "reshape(x) {shape = []}"));
  EXPECT_FALSE(Reshapes(x, "reshape(x) {shape = [4,3,1,10]}"));  // the same shape
  EXPECT_FALSE(Reshapes(x, "transpose(x) {perm = [1,0,2,3]}"));
  EXPECT_FALSE(Reshapes(x, "slice(x) {starts = [0,0,0,0], sizes = [4,3,1,5]}"));
  EXPECT_FALSE(Reshapes("x: f32[4,8,2,3]", "depth_to_space(x) {block = 2}"));
}

// A permutation of the dimensions keeps the order if those of several elements stay in order.
TEST(NodeTraitsTest, TransposesThatKeepTheOrder) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 3, 4}, Shape{2, 1, 4}, Shape{5, 1, 1}}) {
    std::vector<int64_t> perm = {0, 1, 2};
    do {
      Shape result;
      std::vector<int64_t> order;
      for (const int64_t d : perm) {
        result.push_back(shape[d]);
        if (shape[d] != 1) order.push_back(d);
      }
      const std::string text = absl::StrCat("x: f32[", absl::StrJoin(shape, ","), "]");
      EXPECT_EQ(
          Reshapes(text, absl::StrCat("transpose(x) {perm = [", absl::StrJoin(perm, ","), "]}")),
          std::is_sorted(order.begin(), order.end()) && result != shape)
          << text << " " << absl::StrJoin(perm, ",");
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(NodeTraitsTest, AnElementWiseApplicationIsAFunctionOfElements) {
  const NodeTraits add = TraitsOf("a: f32[2,3], b: f32[3]", "add(a, b)");
  ASSERT_TRUE(add.element);
  EXPECT_EQ(add.element->body.ToString(), "add(t0[], t1[])");
  EXPECT_EQ(add.element->dims, (std::vector<std::vector<int>>{{0, 1}, {1}}));
  const NodeTraits norm = TraitsOf("x: f32[2,3,4], s: f32[3], b: f32[3], m: f32[3], v: f32[3]",
                                   "batch_norm(x, s, b, m, v)");
  ASSERT_TRUE(norm.element);
  EXPECT_EQ(norm.element->dims, (std::vector<std::vector<int>>{{0, 1, 2}, {1}, {1}, {1}, {1}}));
  EXPECT_FALSE(TraitsOf("x: f32[2,3]", "softmax(x)").element);
  EXPECT_FALSE(TraitsOf("x: f32[2,3]", "transpose(x) {perm = [1,0]}").element);
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
