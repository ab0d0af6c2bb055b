#include "graph/proto_conversion.h"

#include <random>

#include "gmock/gmock.h"
#include "graph/checker.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    R"(graph g(x: f32[1,4,6,6], w: weight f32[4,2,3,3], b: weight f32[4] = [1, nan, -0.0, 2]) {
  y = conv2d(x, w, b) {pads = [1, 1, 1, 1], groups = 2}
  c = constant i64[1] [-9223372036854775808]
  p, _ = split(y) {axis = 1, sizes = [1, 3]}
  %0 = relu(p)
  i: i64[1], _: f32[] = opaque(%0, c) {op_type = "X", payload = "\x00\xff"}
  z = scalar_mul(%0) {alpha = -0.5}
  return z, i, again = z
})";

Graph Parse(absl::string_view text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(ProtoForm, GivesTheSameGraphBack) {
  Graph graph = Parse(kText);
  auto bytes = SerializeGraph(graph);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(IsGraphProto(*bytes));
  auto again = DeserializeGraph(*bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->outputs(), graph.outputs());
  EXPECT_EQ(again->labels(), graph.labels());
  EXPECT_EQ(PrintGraph(*again), PrintGraph(graph));
  EXPECT_EQ(*SerializeGraph(*again), *bytes);
  EXPECT_TRUE(CheckSameInterface(graph, *again).ok());
}

TEST(ProtoForm, SaysWhatIsWrong) {
  std::string bytes = *SerializeGraph(Parse(kText));
  auto error = [](absl::string_view b) {
    return std::string(DeserializeGraph(b, "m.pb").status().message());
  };
  EXPECT_EQ(error("graph g"), "m.pb: not a graph in lemma's protobuf form");
  EXPECT_EQ(error(bytes.substr(0, bytes.size() / 2)), "m.pb: the protobuf is damaged or cut off");
  std::string other = bytes;
  other[14] = 9;
  EXPECT_EQ(error(other), "m.pb: format version 9, this program reads version 1");
  other = bytes;
  other.replace(other.find("conv2d"), 6, "conv9d");
  EXPECT_THAT(error(other), HasSubstr("(conv9d): there is no such operator"));
  other = bytes;
  other.replace(other.find("scalar_mul"), 10, "reciprocal");
  EXPECT_THAT(error(other), HasSubstr("(reciprocal): reciprocal: no attribute alpha"));
}

TEST(ProtoForm, SurvivesDamage) {
  std::string bytes = *SerializeGraph(Parse(kText));
  std::mt19937_64 random(5);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int i = 1 + random() % 3; i > 0; --i) {
      damaged[13 + random() % (damaged.size() - 13)] = static_cast<char>(random());
    }
    auto graph = DeserializeGraph(damaged);
    if (!graph.ok()) continue;
    ++read;
    absl::Status status = CheckGraph(*graph);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_GT(read, 100);
}

TEST(Checker, ComparesInterfaces) {
  Graph a = Parse("graph g(x: f32[2]) { y = relu(x) return y }");
  Graph b = Parse("graph g(x: f32[2]) { y = relu(x) return z = y }");
  Graph c = Parse("graph g(x: f32[3]) { y = relu(x) return y }");
  EXPECT_TRUE(CheckGraph(a).ok());
  EXPECT_EQ(CheckSameInterface(a, b).message(), "graph g: outputs have other names");
  EXPECT_EQ(CheckSameInterface(a, c).message(), "graph g: input x was f32[2] and is f32[3]");
}

TEST(Checker, FindsTypesThatAreNotInferred) {
  Value x(Node::Input(0, {DType::kF32, {2}}), 0);
  Graph a = Parse("graph g(x: f32[2]) { y = relu(x) z = neg(y) return z }");
  const Node& relu = a.outputs()[0].node().inputs()[0].node();
  // neg of f32[2] said to be f32[2], over a relu said to be f32[3].
  NodePtr wrong = Node::Apply(&relu.op(), {x}, relu.attrs(), {{DType::kF32, {3}}});
  const Node& neg = a.outputs()[0].node();
  NodePtr top = Node::Apply(&neg.op(), {Value(wrong, 0)}, neg.attrs(), neg.types());
  absl::Status status = CheckGraph(a.WithOutputs({Value(top, 0)}));
  EXPECT_EQ(status.message(), "graph g: node 1 (relu): its types are f32[3], inferred are f32[2]");
}

}  // namespace
}  // namespace lemma
