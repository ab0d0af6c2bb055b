#include "runtime/onnxruntime/ort_groups.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

// The groups of the graph with these lines: "conv2d+relu transpose".
std::string GroupsIn(const std::string& inputs, const std::string& lines) {
  const auto graph = ParseGraph(absl::StrCat("graph g(", inputs, ") { ", lines, " }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  const UseTable uses(*graph);
  NodeTraitsCache traits;
  std::string text;
  for (const std::vector<int>& group : ort::GroupsOf(uses, &traits)) {
    absl::StrAppend(&text, text.empty() ? "" : " ");
    for (const int i : group) {
      absl::StrAppend(&text, i == group.front() ? "" : "+", uses.nodes[i]->op().name);
    }
  }
  return text;
}

constexpr char kConv[] = "x: f32[1,8,6,6], f: weight f32[8,8,1,1]";

TEST(OrtGroupsTest, AConvolutionTakesWhatFollowsElementByElement) {
  EXPECT_EQ(GroupsIn(kConv, "c = conv2d(x, f) r = relu(c) n = neg(r) return n"), "conv2d+relu+neg");
  EXPECT_EQ(GroupsIn(kConv, "c = conv2d(x, f) s = sigmoid(c) m = mul(c, s) return m"),
            "conv2d+sigmoid+mul");
}

TEST(OrtGroupsTest, AGroupHasOneResultAndOneOperatorThatIsNotElementWise) {
  EXPECT_EQ(GroupsIn(kConv, "c = conv2d(x, f) r = relu(c) return r, c"), "conv2d relu");
  EXPECT_EQ(GroupsIn(kConv, "c = conv2d(x, f) d = conv2d(c, f) s = add(c, d) return s"),
            "conv2d conv2d+add");
}

TEST(OrtGroupsTest, WhatMovesDataIsAloneAndNamesAreFree) {
  EXPECT_EQ(GroupsIn("x: f32[2,3]", "t = transpose(x) {perm = [1,0]} r = relu(t) return r"),
            "transpose relu");
  EXPECT_EQ(GroupsIn("x: f32[2,3]", "t = reshape(x) {shape = [6]} r = relu(t) return r"), "relu");
}

TEST(OrtGroupsTest, WhatDependsOnWeightsOnlyIsFree) {
  EXPECT_EQ(GroupsIn(kConv, "g = neg(f) c = conv2d(x, g) return c"), "conv2d");
}

}  // namespace
}  // namespace lemma
