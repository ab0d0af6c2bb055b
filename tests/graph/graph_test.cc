#include "graph/graph.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/rebuild.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

TEST(GraphTest, EqualApplicationsAreOneNode) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({2, 3}));
  EXPECT_EQ(b.Op("relu", {x}).value(), b.Op("relu", {x}).value());
  // Another graph with the same kind of input shares the node too.
  GraphBuilder other("other");
  Value y = other.Input("y", F32({2, 3}));
  EXPECT_EQ(other.Op("relu", {y}).value(), b.Op("relu", {x}).value());
}

TEST(GraphTest, AttributesAreToldApartByTheirBits) {
  GraphBuilder b("g");
  const Value x = b.Input("x", {DType::kF32, {2}});
  const auto padded = [&](double value) {
    return *b.Op("pad", {x}, {{"pads", std::vector<int64_t>{1, 0}}, {"value", value}});
  };
  EXPECT_EQ(padded(std::nan("")), padded(std::nan("")));
  EXPECT_EQ(padded(0.0), padded(0.0));
  EXPECT_NE(padded(0.0), padded(-0.0));
}

TEST(GraphTest, DefaultAttributesAreFilledIn) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({1, 2, 4, 4}));
  Value w = b.Weight("w", F32({3, 2, 1, 1}));
  Value implicit = b.Op("conv2d", {x, w}).value();
  Value given = b.Op("conv2d", {x, w}, {{"groups", int64_t{1}}}).value();
  EXPECT_EQ(implicit, given);
  EXPECT_THAT(implicit.node().Ints("strides"), ElementsAre(1, 1));
}

TEST(GraphTest, WeightsWithEqualValuesStayApart) {
  GraphBuilder b("g");
  Tensor ones = Tensor::Filled(F32({2}), 1).value();
  EXPECT_NE(b.Weight("u", ones), b.Weight("v", ones));
  EXPECT_EQ(b.Constant(ones), b.Constant(Tensor::Filled(F32({2}), 1).value()));
}

TEST(GraphTest, EqualWeightsKeepTheirLabels) {
  GraphBuilder b("g");
  Tensor ones = Tensor::Filled(F32({2}), 1).value();
  Value u = b.Weight("u", ones), v = b.Weight("v", ones);
  Value p = b.Op("relu", {u}).value(), q = b.Op("relu", {v}).value();
  b.Label(p, "p");
  b.Label(q, "q");
  b.Output("p", p);
  b.Output("q", q);
  Graph g = std::move(b).Build().value();
  EXPECT_EQ(g.LabelOf(u), "u");
  EXPECT_EQ(g.LabelOf(v), "v");
  EXPECT_EQ(g.LabelOf(q), "q");
}

TEST(GraphTest, StructuralHashIgnoresTheNamesOfWeightsWithValues) {
  auto build = [](const char* name) {
    GraphBuilder b("g");
    Value w = b.Weight(name, Tensor::Filled(F32({2}), 1).value());
    b.Output("y", b.Op("relu", {w}).value());
    return std::move(b).Build().value();
  };
  EXPECT_EQ(build("u").StructuralHash(), build("v").StructuralHash());
}

TEST(GraphTest, ConstantsAreToldApartByTheirBits) {
  EXPECT_NE(Node::Constant(Tensor::ScalarF32(0.0f)), Node::Constant(Tensor::ScalarF32(-0.0f)));
}

TEST(GraphTest, NodesArePrunedAndOrdered) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({2, 2}));
  Value unused = b.Input("unused", F32({1}));
  Value y = b.Op("relu", {x}).value();
  ASSERT_TRUE(b.Op("matmul", {y, y}).ok());  // dead
  b.Output("y", y);
  Graph g = std::move(b).Build().value();
  EXPECT_THAT(g.nodes(), ElementsAre(x.node_ptr(), unused.node_ptr(), y.node_ptr()));
  EXPECT_EQ(g.num_ops(), 1);
}

Graph TwoHeads(const std::string& prefix, bool reversed_construction) {
  GraphBuilder b(prefix);
  Value x = b.Input(prefix + "x", F32({8, 6}));
  Value u = b.Weight(prefix + "u", F32({6, 4}));
  Value v = b.Weight(prefix + "v", F32({6, 4}));
  Value p, q;
  if (reversed_construction) q = b.Op("matmul", {x, v}).value();
  p = b.Op("matmul", {x, u}).value();
  if (!reversed_construction) q = b.Op("matmul", {x, v}).value();
  b.Output(prefix + "p", p);
  b.Output(prefix + "q", q);
  return std::move(b).Build().value();
}

TEST(GraphTest, StructuralHashIgnoresNamesAndOrder) {
  uint64_t hash = TwoHeads("a", false).StructuralHash();
  EXPECT_EQ(hash, TwoHeads("a", true).StructuralHash());
  EXPECT_EQ(hash, TwoHeads("b", false).StructuralHash());
  // The value is stable across runs and machines.
  EXPECT_EQ(Node::Input(0, F32({2}))->hash(), Node::Input(0, F32({2}))->hash());
}

TEST(GraphTest, StructuralHashSeesStructure) {
  Graph g = TwoHeads("a", false);
  Graph swapped = g.WithOutputs({g.outputs()[1], g.outputs()[0]});
  // Weights are numbered by first use: swapping the heads renames them, which changes nothing …
  EXPECT_EQ(g.StructuralHash(), swapped.StructuralHash());
  // … but using one head twice does.
  Graph twice = g.WithOutputs({g.outputs()[0], g.outputs()[0]});
  EXPECT_NE(g.StructuralHash(), twice.StructuralHash());
}

TEST(GraphTest, DeepGraphsNeedNoDeepStack) {
  GraphBuilder b("deep");
  Value v = b.Input("x", F32({2, 2}));
  Value w = b.Weight("w", F32({2, 2}));
  for (int i = 0; i < 200000; ++i) v = b.Op("matmul", {v, w}).value();
  b.Output("y", v);
  v = Value();
  Graph g = std::move(b).Build().value();
  EXPECT_EQ(g.num_ops(), 200000);
}

TEST(BuilderTest, ErrorsNameOperatorSizesAndWhatIsAccepted) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({2, 3}));
  auto bad = b.Op("matmul", {x, x});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(bad.status().message(),
            "matmul(f32[2,3], f32[2,3]): the inner sizes 3 and 2 must be equal");
  EXPECT_THAT(b.Op("matmul", {x}).status().message(), HasSubstr("1 inputs given, it takes 2"));
  EXPECT_THAT(b.Op("mat", {x}).status().message(), HasSubstr("no operator mat"));
  EXPECT_THAT(b.Op("relu", {x}, {{"axis", int64_t{1}}}).status().message(),
              HasSubstr("no attribute axis"));
}

TEST(BuilderTest, AttributesOfTheWrongKindAreRefused) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({1, 2, 4, 4}));
  Value w = b.Weight("w", F32({3, 2, 1, 1}));
  EXPECT_THAT(b.Op("conv2d", {x, w}, {{"groups", std::string("two")}}).status().message(),
              HasSubstr("groups = \"two\" must be an integer"));
  EXPECT_THAT(b.Op("conv2d", {x, w}, {{"groups", int64_t{0}}}).status().message(),
              HasSubstr("groups must be positive"));
}

TEST(BuilderTest, NamesMustBeUnique) {
  GraphBuilder b("g");
  Value x = b.Input("x", F32({1}));
  b.Input("x", F32({2}));
  b.Output("y", x);
  EXPECT_THAT(std::move(b).Build().status().message(), HasSubstr("two inputs named x"));
  GraphBuilder empty("e");
  EXPECT_THAT(std::move(empty).Build().status().message(), HasSubstr("no outputs"));
}

// The same definition serves rules: sizes are symbols, and comparisons that cannot be decided are
// recorded.
TEST(OpDefTest, SymbolicSizesYieldRequirements) {
  const OpDef* matmul = FindOp("matmul");
  auto s = [](const char* name) { return IndexExpr::Symbol(name); };
  auto meaning = Define(*matmul, {{DType::kF32, {s("m"), s("k")}}, {DType::kF32, {s("l"), s("n")}}},
                        ExprAttrs{});
  ASSERT_TRUE(meaning.ok());
  ASSERT_EQ(meaning->requirements.size(), 1u);
  EXPECT_EQ(meaning->requirements[0].ToString(), "k == l");
  EXPECT_EQ(meaning->definition.ToString(),
            "out t2[i0 < m, i1 < n] = sum(i2 < k, mul(t0[i0, i2], t1[i2, i1]))\n");
}

TEST(RebuildTest, ReplacementsMayContainKeys) {
  GraphBuilder b("g");
  const Value x = b.Input("x", F32({2, 3}));
  const Value a = b.Op("relu", {x}).value(), c = b.Op("exp", {b.Op("neg", {a}).value()}).value();
  b.Output("y", b.Op("add", {a, c}).value());
  const Graph graph = *std::move(b).Build();
  auto op = [](const char* name, const Value& v) { return *Apply1(name, {v}); };
  auto sum = [](const Value& v, const Value& w) { return *Apply1("add", {v, w}); };
  // exp(neg(a)) becomes abs(a), and a becomes sigmoid(x), in abs(a) too if replacements count.
  const Value s = op("sigmoid", x);
  const ValueMap replacements = {{a, s}, {c, op("abs", a)}};
  EXPECT_EQ(ReplaceValues(graph, replacements).outputs()[0], sum(s, op("abs", a)));
  ValueMap changed;
  const auto everywhere = ReplaceValuesEverywhere(graph, replacements, &changed);
  ASSERT_TRUE(everywhere.has_value());
  EXPECT_EQ(everywhere->outputs()[0], sum(s, op("abs", s)));
  EXPECT_EQ(everywhere->output_names(), graph.output_names());
  EXPECT_EQ(changed.at(a), s);
  EXPECT_EQ(changed.at(c), op("abs", s));
  EXPECT_EQ(changed.at(op("abs", a)), op("abs", s));
  // Of two outputs, one is replaced by a value that depends on the other.
  GraphBuilder two("two");
  const Value z = two.Input("z", F32({4, 3}));
  const std::vector<Value> halves = *ApplyOp(
      "split", {op("relu", z)}, {{"axis", int64_t{0}}, {"sizes", std::vector<int64_t>{2, 2}}});
  two.Output("y", sum(halves[0], halves[1]));
  const auto split = ReplaceValuesEverywhere(
      *std::move(two).Build(), {{halves[0], op("abs", halves[1])}, {op("relu", z), op("tanh", z)}});
  ASSERT_TRUE(split.has_value());
  const Value second = (*ApplyOp("split", {op("tanh", z)}, halves[0].node().attrs()))[1];
  EXPECT_EQ(split->outputs()[0], sum(op("abs", second), second));
  // Each would depend on the other.
  EXPECT_FALSE(ReplaceValuesEverywhere(graph, {{a, op("abs", c)}, {c, op("tanh", a)}}).has_value());
}

}  // namespace
}  // namespace lemma
