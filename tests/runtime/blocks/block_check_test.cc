// What CheckBlocks proves, and which faults in divided graphs it refuses.
#include "runtime/cpu/blocks/block_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/rebuild.h"
#include "gtest/gtest.h"
#include "tests/runtime/blocks/blocks_testutil.h"
#include "tests/runtime/blocks/cascade_spellings.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using testing::HasSubstr;

absl::StatusOr<cpu::BlockEvidence> Check(const std::string& whole, const std::string& divided) {
  return cpu::CheckBlocks(GraphWithWeights(whole), GraphWithWeights(divided));
}

TEST(BlockCheck, ProvesBlocksOfRows) {
  const std::string whole = "graph g(x: f32[6,4]) { y = softmax(x) {axis = 1} return y }";
  const auto evidence = Check(whole, R"(graph g(x: f32[6,4]) {
    a = slice(x) {starts = [0,0], sizes = [2,4]} b = slice(x) {starts = [2,0], sizes = [4,4]}
    c = softmax(a) {axis = 1} d = softmax(b) {axis = 1} y = concat(c, d) {axis = 0} return y })");
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_EQ(evidence->applications, 2);
  EXPECT_EQ(evidence->values, 1);
  // Blocks that overlap, or lie in another order, or are cut along the softmax.
  for (const char* body :
       {"a = slice(x) {starts = [0,0], sizes = [2,4]} b = slice(x) {starts = [1,0], sizes = [4,4]} "
        "c = softmax(a) {axis = 1} d = softmax(b) {axis = 1} y = concat(c, d) {axis = 0}",
        "a = slice(x) {starts = [0,0], sizes = [3,4]} b = slice(x) {starts = [3,0], sizes = [3,4]} "
        "c = softmax(a) {axis = 1} d = softmax(b) {axis = 1} y = concat(d, c) {axis = 0}",
        "a = slice(x) {starts = [0,0], sizes = [6,2]} b = slice(x) {starts = [0,2], sizes = [6,2]} "
        "c = softmax(a) {axis = 1} d = softmax(b) {axis = 1} y = concat(c, d) {axis = 1}"}) {
    const auto wrong = Check(whole, absl::StrCat("graph g(x: f32[6,4]) {", body, " return y }"));
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("\"y\"")) << body;
  }
}

TEST(BlockCheck, ProvesPartsOfSums) {
  const std::string whole = "graph g(x: f32[6,4]) { y = reduce_sum(x) {axes = [0]} return y }";
  const std::string parts = R"(graph g(x: f32[6,4]) {
    a = slice(x) {starts = [0,0], sizes = [2,4]} b = slice(x) {starts = [$,0], sizes = [4,4]}
    c = reduce_sum(a) {axes = [0]} d = reduce_sum(b) {axes = [0]} y = add(d, c) return y })";
  auto with = [&](const std::string& start) {
    std::string text = parts;
    return text.replace(text.find('$'), 1, start);
  };
  EXPECT_TRUE(Check(whole, with("2")).ok());
  EXPECT_FALSE(Check(whole, with("1")).ok());
  // A mean of means is no mean, and a maximum no sum.
  for (const char* op : {"reduce_mean", "reduce_max"}) {
    std::string text = with("2"), other = whole;
    for (std::string* t : {&text, &other}) {
      for (size_t at = t->find("reduce_sum"); at != std::string::npos; at = t->find("reduce_sum")) {
        t->replace(at, 10, op);
      }
    }
    EXPECT_FALSE(Check(other, text).ok()) << op;
  }
}

TEST(BlockCheck, RefusesCasts) {
  const std::string whole = "graph g(x: i32[6]) { y = neg(x) return y }";
  EXPECT_TRUE(Check(whole, whole).ok());
  EXPECT_FALSE(Check(whole, R"(graph g(x: i32[6]) {
    a = cast(x) {dtype = "i8"} b = cast(a) {dtype = "i32"} y = neg(b) return y })")
                   .ok());
  EXPECT_FALSE(Check("graph g(x: f32[6]) { y = exp(x) return y }", R"(graph g(x: f32[6]) {
    h = cast(x) {dtype = "f16"} e = exp(h) y = cast(e) {dtype = "f32"} return y })")
                   .ok());
}

TEST(BlockCheck, RefusesBlocksOutsideTheValue) {
  const std::string whole =
      "graph g(x: f32[12]) { y = slice(x) {starts = [0], sizes = [5]} return y }";
  EXPECT_FALSE(Check(whole, R"(graph g(x: f32[12]) {
    a = slice(x) {starts = [6], sizes = [6]} b = slice(a) {starts = [0], sizes = [6]}
    y = slice(b) {starts = [0], sizes = [5]} return y })")
                   .ok());
  EXPECT_FALSE(Check(whole, R"(graph g(x: f32[12]) {
    a = slice(x) {starts = [1], sizes = [6]} b = slice(a) {starts = [0], sizes = [6]}
    y = slice(b) {starts = [0], sizes = [5]} return y })")
                   .ok());
}

TEST(BlockCheck, ComparesTheInputs) {
  const std::string body = " { y = sub(a, b) return y }";
  const std::string whole = absl::StrCat("graph g(a: f32[4], b: f32[4])", body);
  EXPECT_TRUE(Check(whole, whole).ok());
  EXPECT_FALSE(Check(whole, absl::StrCat("graph g(b: f32[4], a: f32[4])", body)).ok());
  EXPECT_FALSE(Check(whole, absl::StrCat("graph g(a: f32[4], b: f32[4], c: f32[4])", body)).ok());
}

TEST(BlockCheck, ComparesUniformConstantsByValue) {
  const std::string whole =
      "graph g(x: f32[6,4]) { c = constant f32[1,1] fill 0.5 y = mul(x, c) return y }";
  auto with = [](const std::string& number) {
    return absl::StrCat("graph g(x: f32[6,4]) { n = constant f32[] fill ", number,
                        R"( c = expand(n) {shape = [1,1]}
      a = slice(x) {starts = [0,0], sizes = [2,4]} b = slice(x) {starts = [2,0], sizes = [4,4]}
      d = mul(a, c) e = mul(b, c) y = concat(d, e) {axis = 0} return y })");
  };
  const auto evidence = Check(whole, with("0.5"));
  EXPECT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_FALSE(Check(whole, with("0.25")).ok());
}

// Changes one node that the division added; nullopt if it has nothing to change.
std::optional<Value> Faulty(const Node& node) {
  Attrs attrs = node.attrs();
  std::vector<Value> inputs = node.inputs();
  if (node.IsOp("slice")) {
    Shape& starts = std::get<Shape>(attrs.at("starts"));
    size_t d = 0;
    while (d < starts.size() && node.type(0).shape[d] == inputs[0].shape()[d]) ++d;
    if (d == starts.size()) return std::nullopt;
    starts[d] += starts[d] > 0 ? -1 : 1;
  } else if (node.IsOp("concat")) {
    std::reverse(inputs.begin(), inputs.end());
    if (inputs == node.inputs()) return std::nullopt;
    if (inputs.front().type() != inputs.back().type()) return std::nullopt;
  } else if (node.IsOp("add")) {
    if (inputs[0].type() != node.type(0)) return std::nullopt;
    return inputs[0];
  } else {
    return std::nullopt;
  }
  auto applied = ApplyOp(node.op().name, std::move(inputs), std::move(attrs));
  if (!applied.ok() || (*applied)[0].type() != node.type(0)) return std::nullopt;
  return (*applied)[0];
}

TEST(BlockCheck, RefusesFaults) {
  int faults = 0;
  for (int form = 0; form < kNumCascades; ++form) {
    const Spelling spelling = Spell(static_cast<Cascade>(form), 3, /*gradient=*/true);
    const Graph graph = GraphOf(spelling);
    cpu::BlockOptions options;
    options.large_bytes = spelling.whole_bytes * 2 / 5;
    options.block_bytes = spelling.whole_bytes / 4;
    const Graph blocked = Blocked(graph, options);
    ASSERT_TRUE(cpu::CheckBlocks(graph, blocked).ok());
    absl::flat_hash_set<const Node*> before;
    for (const NodePtr& node : graph.nodes()) before.insert(node.get());
    for (const NodePtr& node : blocked.nodes()) {
      if (!node->is_op() || before.count(node.get()) > 0) continue;
      const std::optional<Value> fault = Faulty(*node);
      if (!fault) continue;
      ++faults;
      const Graph wrong = ReplaceValues(blocked, {{Value(node, 0), *fault}});
      EXPECT_FALSE(cpu::CheckBlocks(graph, wrong).ok())
          << Name(static_cast<Cascade>(form)) << ": " << node->op().name << " "
          << node->type(0).ToString() << "\n"
          << spelling.text;
    }
  }
  EXPECT_GT(faults, 300);
}

TEST(BlockCheck, ToleranceIsForFiniteNumbers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_TRUE(IsWithin(0.1, 10, 10.9));
  EXPECT_FALSE(IsWithin(0.1, 10, 11.1));
  EXPECT_TRUE(IsWithin(0.1, inf, inf));
  EXPECT_TRUE(IsWithin(0.1, nan, nan));
  for (const double other : {0.0, 1e300, -inf, nan}) {
    EXPECT_FALSE(IsWithin(0.1, inf, other)) << other;
    EXPECT_FALSE(IsWithin(0.1, other, inf)) << other;
  }
}

}  // namespace
}  // namespace lemma
