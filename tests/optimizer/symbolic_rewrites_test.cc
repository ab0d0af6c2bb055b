// Rewrites of graphs with symbolic sizes: none that holds at some sizes only is offered, and each
// that is offered holds at every size.
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "gtest/gtest.h"
#include "rewrite/matching/match_index.h"
#include "rewrite/matching/rewrite_source.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

const RuleSet& Rules() {
  static const auto* const rules = RuleSet::Load("data/rules/starter.txt").value().release();
  return *rules;
}

Graph Imported(const onnx::ModelProto& model) {
  ImportOptions options;
  options.symbolic = true;
  auto imported = ImportOnnxBytes(model.SerializeAsString(), options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported.ok() ? imported->graph : Graph();
}

std::set<std::string> OfferedIn(const Graph& graph) {
  const MatchIndex index(graph);
  std::set<std::string> names;
  Rules().ForEach(index, [&](const Rewrite& rewrite) {
    if (rewrite.Apply().ok()) names.insert(rewrite.name());
    return true;
  });
  return names;
}

struct Trap {
  std::string rule;
  std::string graph;  // ONNX text; s, c and k are initializers
  DimValues hint;     // where the rule applies
};

onnx::ModelProto ModelOf(const Trap& trap) {
  onnx::ModelProto model = OnnxModel(trap.graph);
  AddOnes(&model, "k", {2, 3, 3, 3});
  AddOnes(&model, "o", {2});
  return model;
}

const std::vector<Trap>& Traps() {
  static const auto* const traps = new std::vector<Trap>{
      {"identity_slice",
       R"(g (float[n] x) => (float[m] y) {
         a = Constant<value_ints = [0]>() b = Constant<value_ints = [5]>()
         z = Slice(x, a, b) y = Relu(z) })",
       {{"n", 4}}},
      {"identity_reshape",
       R"(g (float[p,q,4] x) => (float[q,p,4] y) {
         shape = Shape(x) order = Constant<value_ints = [1, 0, 2]>()
         swapped = Gather(shape, order) y = Reshape(x, swapped) })",
       {{"p", 3}, {"q", 3}}},
      {"identity_expand",
       R"(g (float[1,4] x, float[n,4] z) => (float[n,4] y) {
         shape = Shape(z) y = Expand(x, shape) })",
       {{"n", 1}}},
      {"transpose_of_unit_first",
       "g (float[n,3,4] x) => (float[3,n,4] y) { y = Transpose<perm = [1, 0, 2]>(x) }",
       {{"n", 1}}},
      {"transpose_of_unit_second",
       "g (float[3,n,4] x) => (float[n,3,4] y) { y = Transpose<perm = [1, 0, 2]>(x) }",
       {{"n", 1}}},
      {"identity_pad",
       R"(g (float[n] x) => (float[m] y) {
         shape = Shape(x) five = Constant<value_ints = [5]>() none = Constant<value_ints = [0]>()
         more = Sub(shape, five) pads = Concat<axis = 0>(none, more) y = Pad(x, pads) })",
       {{"n", 5}}},
      {"gate_into_conv_weights",
       R"(g (float[n,3,8,8] x, float[n,3,1,1] s) => (float[n,2,6,6] y) {
         z = Mul(x, s) y = Conv(z, k) })",
       {{"n", 1}}},
      {"gate_into_conv_bias_weights",
       R"(g (float[n,3,8,8] x, float[n,3,1,1] s) => (float[n,2,6,6] y) {
         z = Mul(x, s) y = Conv(z, k, o) })",
       {{"n", 1}}},
      {"pad_into_conv",
       R"(g (float[2,3,h,8] x, float[m] t) => (float[2,2,r,6] y) {
         length = Shape(t) five = Constant<value_ints = [5]>()
         three = Constant<value_ints = [0, 0, 0, 0, 0, 0]>() zero = Constant<value_ints = [0]>()
         more = Sub(length, five) pads = Concat<axis = 0>(three, more, zero)
         z = Pad(x, pads) y = Conv(z, k) })",
       {{"h", 8}, {"m", 6}}},
      {"relu_of_relu",  // not proved for an empty operand
       R"(g (float[n] x) => (float[m] y) {
         a = Constant<value_ints = [1]>() b = Constant<value_ints = [9223372036854775807]>()
         t = Slice(x, a, b) z = Relu(t) y = Relu(z) })",
       {{"n", 4}}},
  };
  return *traps;
}

TEST(SymbolicRewritesTest, WhatHoldsAtTheHintOnlyIsNotOffered) {
  for (const Trap& trap : Traps()) {
    const Graph graph = Imported(ModelOf(trap));
    ASSERT_TRUE(IsSymbolic(graph)) << trap.rule;
    auto at_hint = Specialize(graph, trap.hint);
    ASSERT_TRUE(at_hint.ok()) << trap.rule << ": " << at_hint.status();
    EXPECT_EQ(OfferedIn(*at_hint).count(trap.rule), 1u)
        << trap.rule << " does not hold at the hint";
    EXPECT_EQ(OfferedIn(graph).count(trap.rule), 0u) << trap.rule << " is offered for all sizes";
  }
}

std::vector<Tensor> Execute(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const Value& input : graph.inputs()) {
    std::vector<double> values;
    for (int64_t i = 0; i < input.type().num_elements(); ++i) {
      values.push_back(static_cast<double>((i * 37 + 11) % 64 - 32) / 8);
    }
    inputs.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return *(*MakeReferenceBackend()->Compile(graph, {}))->Run(inputs);
}

const char* const kGraphs[] = {
    R"(g (float[n,m,6] x) => (float[n,m,6] y) {
      a = Relu(x) b = Relu(a) shape = Shape(x) c = Reshape(b, shape) d = Neg(c) e = Neg(d)
      y = Add(e, x) })",
    R"(g (float[n,m,6] x, float[6,5] a, float[6,4] b) => (float[n,m,5] p, float[n,m,4] q) {
      p = MatMul(x, a) q = MatMul(x, b) })",
    R"(g (float[n,m] x, float[n,l] y) => (float[n,m] p, float[n,l] q) {
      c = Concat<axis = 1>(x, y) r = Relu(c)
      sx = Shape<start = 1>(x) sy = Shape<start = 1>(y) s = Concat<axis = 0>(sx, sy)
      p, q = Split<axis = 1>(r, s) })",
    R"(g (float[n,3,h,w] x) => (float[n,2,h,w] y) {
      z = Conv<pads = [1, 1, 1, 1]>(x, k, o) two = Constant<value_float = 2.0>()
      y = Mul(z, two) })",
    R"(g (float[n,m,4] x) => (float[m,n,4] y) {
      a = Transpose<perm = [1, 0, 2]>(x) b = Transpose<perm = [1, 0, 2]>(a)
      y = Transpose<perm = [1, 0, 2]>(b) })",
};

TEST(SymbolicRewritesTest, WhatIsOfferedHoldsAtEverySize) {
  int rewrites = 0;
  for (const char* text : kGraphs) {
    Trap plain;
    plain.graph = text;
    const Graph graph = Imported(ModelOf(plain));
    const MatchIndex index(graph);
    Rules().ForEach(index, [&](const Rewrite& rewrite) {
      auto after = rewrite.Apply();
      EXPECT_TRUE(after.ok()) << after.status();
      if (!after.ok()) return true;
      ++rewrites;
      for (int64_t size : {1, 2, 5}) {
        const DimValues values = {{"n", size}, {"m", 6 - size}, {"l", 3}, {"h", size}, {"w", 4}};
        auto x = Specialize(graph, values), y = Specialize(*after, values);
        EXPECT_TRUE(x.ok() && y.ok()) << rewrite.name() << y.status();
        if (!x.ok() || !y.ok()) continue;
        const std::vector<Tensor> expected = Execute(*x), actual = Execute(*y);
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(expected[i].ToDoubles(), actual[i].ToDoubles())
              << rewrite.Describe() << " at " << size;
        }
      }
      return true;
    });
  }
  EXPECT_GE(rewrites, 7);
}

}  // namespace
}  // namespace lemma
