// Explanations of why rules do not apply.
#include "rewrite/matching/why_not.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/matching/match_set.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

const RuleSet& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  return *rules;
}

const PreparedRule& Rule(const RuleSet& rules, const std::string& name) {
  for (const PreparedRule* rule : rules.Rules()) {
    if (rule->rule().name == name) return *rule;
  }
  ADD_FAILURE() << "no rule " << name;
  return *rules.Rules()[0];
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// "operand@y: the operand of z is …": the answer at the place labeled `anchor`.
std::string Answer(const PreparedRule& rule, const std::string& text, absl::string_view anchor) {
  const Graph graph = Parse(text);
  const MatchIndex index(graph);
  WhyNotExplainer explainer(rule);
  for (int position : index.ApplicationsOf(rule.matcher.anchor_op())) {
    if (graph.LabelOf(Value(index.node(position), 0)) != anchor) continue;
    const WhyNot answer = explainer.Explain(index, position);
    return absl::StrCat(Name(answer.missing), "@",
                        std::string(graph.LabelOf(Value(index.node(answer.at), 0))), ": ",
                        answer.reason);
  }
  return "no such anchor";
}
std::string Answer(const std::string& rule, const std::string& text, absl::string_view anchor) {
  return Answer(Rule(Starter(), rule), text, anchor);
}
std::string AnswerOf(const std::string& rule, const std::string& text) {
  auto rules = ParseRules(rule);
  EXPECT_TRUE(rules.ok()) << rules.status();
  auto set = RuleSet::Create(*std::move(rules));
  EXPECT_TRUE(set.ok()) << set.status();
  return Answer(*(*set)->Rules()[0], text, "z");
}

TEST(WhyNot, AnOperandComesFromElsewhere) {
  EXPECT_EQ(Answer("transpose_of_transpose", R"(graph g(x: f32[2,3]) {
    y = relu(x) z = transpose(y) {perm = [1, 0]} return z })",
                   "z"),
            "operand@z: the operand of transpose is relu, not transpose");
  EXPECT_EQ(Answer("transpose_of_transpose", R"(graph g(x: f32[2,3]) {
    z = transpose(x) {perm = [1, 0]} return z })",
                   "z"),
            "operand@z: the operand of transpose is an input, not transpose");
}

TEST(WhyNot, AnOperandIsAnotherValue) {
  EXPECT_EQ(Answer("recognize_silu", R"(graph g(x: f32[4], o: f32[4]) {
    y = sigmoid(o) z = mul(y, x) return z })",
                   "z"),
            "operand@y: the operand of sigmoid is another value than x");
  EXPECT_EQ(Answer("recognize_silu", R"(graph g(x: f32[4]) {
    y = relu(x) z = mul(y, x) return z })",
                   "z"),
            "operand@z: the operands of mul are relu and an input, not x and sigmoid");
}

TEST(WhyNot, NobodyReadsAValue) {
  EXPECT_EQ(Answer("merge_matmul_rhs", R"(graph g(x: f32[2,3], a: weight f32[3,4]) {
    v = relu(x) p = matmul(v, a) return p })",
                   "p"),
            "reader@v: no other matmul reads x as operand 1");
}

TEST(WhyNot, AnAttributeHasAnotherValue) {
  EXPECT_EQ(Answer("mean_before_pointwise_conv",
                   R"(graph g(x: f32[1,2,4,4], f: weight f32[3,2,1,1]) {
    y = conv2d(x, f) {strides = [2, 2]}
    z = reduce_mean(y) {axes = [2, 3], keepdims = 1} return z })",
                   "z"),
            "attribute@y: strides of conv2d is [2, 2], not [1, 1]");
  // If several attributes differ, the first is named.
  EXPECT_EQ(Answer("mean_before_pointwise_conv",
                   R"(graph g(x: f32[1,2,4,4], f: weight f32[3,2,1,1]) {
    y = conv2d(x, f) z = reduce_mean(y) {axes = [3], keepdims = 0} return z })",
                   "z"),
            "attribute@z: axes of reduce_mean is [3], not [2, 3]");
}

TEST(WhyNot, AVariableIsNoWeight) {
  EXPECT_EQ(Answer("matmul_scalar_into_weights", R"(graph g(x: f32[2,3], f: f32[3,4]) {
    y = matmul(x, f) z = scalar_mul(y) {alpha = 2.0} return z })",
                   "z"),
            "role@f: f depends on an input; it has to be a weight");
}

TEST(WhyNot, AVariableHasAnotherTypeOrShape) {
  EXPECT_EQ(Answer("mean_before_pointwise_conv",
                   R"(graph g(x: f32[1,2,4,4], f: weight f32[3,2,3,3]) {
    y = conv2d(x, f) z = reduce_mean(y) {axes = [2, 3], keepdims = 1} return z })",
                   "z"),
            "shape@f: f is f32[3,2,3,3], not [k, c, 1, 1] with c = 2");
  EXPECT_EQ(Answer("recognize_silu", R"(graph g(x: i64[4]) { z = mul(x, x) return z })", "z"),
            "operand@z: the operands of mul are an input and an input, not x and sigmoid");
  EXPECT_EQ(AnswerOf(R"(rule r(x: [n]) reassociates { y = add(x, x) z = neg(y) return z } => {
    y = neg(x) z = add(y, y) return z })",
                     "graph g(x: i64[4]) { y = add(x, x) z = neg(y) return z }"),
            "type@x: x is i64, not a float");
}

TEST(WhyNot, AConstantHasOtherElements) {
  constexpr char kRule[] = R"(rule r(x: [n]) bit_exact {
    c = constant [] fill 0.0
    z = add(x, c) return z } => { return x })";
  EXPECT_EQ(AnswerOf(kRule, R"(graph g(x: f32[4]) {
    c = constant f32[] fill 1.5 z = add(x, c) return z })"),
            "constant@c: the elements of c are 1.5, not 0.0");
  EXPECT_EQ(AnswerOf(kRule, R"(graph g(x: f32[4]) {
    c = constant f32[4] fill 0.0 z = add(x, c) return z })"),
            "constant@c: c is f32[4], not []");
  EXPECT_EQ(AnswerOf(kRule, R"(graph g(x: f32[4], c: weight f32[4]) {
    z = add(x, c) return z })"),
            "operand@z: the operands of add are an input and a weight, not x and a constant of "
            "equal elements");
}

TEST(WhyNot, ThePreconditionDoesNotHold) {
  EXPECT_EQ(Answer("identity_transpose", R"(graph g(x: f32[2,3]) {
    z = transpose(x) {perm = [1, 0]} return z })",
                   "z"),
            "guard@z: p = iota(len(p)) does not hold with p = [1, 0]");
}

TEST(WhyNot, AnOperandDependsOnAnOutput) {
  constexpr char kRule[] = R"(rule r(x: [m,k], a: [k,n1], c: [k,n2]) reassociates {
    p = matmul(x, a) q = matmul(x, c) return p, q } => {
    f = concat(a, c) {axis = 1} y = matmul(x, f)
    p, q = split(y) {axis = 1, sizes = [n1, n2]} return p, q })";
  EXPECT_EQ(AnswerOf(kRule, R"(graph g(x: f32[3,3], a: f32[3,3]) {
    y = matmul(x, a) z = matmul(x, y) return z })"),
            "tangled@z: an operand is computed from an output, which the target would replace");
}

TEST(WhyNot, TheProofDoesNotCoverTheSizes) {
  constexpr char kRule[] = R"(rule r(x: [n,g*c,h,w], f: [g*k,c,r,s], b: [1,l,1,1]) bit_exact {
    y = conv2d(x, f) {groups = g} z = add(y, b) return z } => {
    y = conv2d(x, f) {groups = g} z = add(b, y) return z })";
  EXPECT_EQ(AnswerOf(kRule, R"(graph g(x: f32[1,2,5,5], f: f32[4,2,3,3], b: f32[1,1,1,1]) {
    y = conv2d(x, f) {groups = 1} z = add(y, b) return z })"),
            "coverage@z: no form of its proof covers n = 1, g = 1, c = 2, h = 5, w = 5, k = 4, "
            "r = 3, s = 3, l = 1");
}

TEST(WhyNot, TheAnchorHasAnotherNumberOfOperands) {
  EXPECT_EQ(AnswerOf(R"(rule r(x: [m,n1], y: [m,n2]) bit_exact {
    z = concat(x, y) {axis = 1} a = relu(z) return z, a } => {
    z = concat(x, y) {axis = 1} a = relu(z) return z, a })",
                     R"(graph g(x: f32[2,2]) {
    z = concat(x, x, x) {axis = 1} return z })"),
            "operator@z: concat has 3 operands, not 2");
}

TEST(WhyNot, ItApplies) {
  constexpr char kGraph[] = R"(graph g(x: f32[2,3], a: weight f32[3,4], b: weight f32[3,5]) {
    p = matmul(x, a) q = matmul(x, b) return p, q })";
  EXPECT_EQ(Answer("merge_matmul_rhs", kGraph, "p"), "nothing@p: ");
  EXPECT_EQ(Answer("merge_matmul_rhs", kGraph, "q"), "nothing@q: ");
}

// The nodes of each match, whatever their order.
std::set<std::set<const Node*>> Sets(const std::vector<Match>& matches) {
  std::set<std::set<const Node*>> sets;
  for (const Match& match : matches) {
    std::set<const Node*> nodes;
    for (const NodePtr& node : match.nodes) nodes.insert(node.get());
    sets.insert(std::move(nodes));
  }
  return sets;
}

// The answer is that the rule applies exactly where the search finds a match.
TEST(WhyNot, AgreesWithTheMatcher) {
  int applicable = 0, others = 0;
  for (const char* name : {"squeezenet", "inception_v1", "densenet121"}) {
    auto model = ImportOnnx(absl::StrCat("data/models/light/light_", name, ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status();
    const MatchIndex index(model->graph);
    for (const PreparedRule* rule : Starter().Rules()) {
      std::vector<Match> expected, found;
      rule->matcher.ForEach(index, [&](const Match& match) {
        Binding binding;
        for (const Value& v : match.vars) {
          binding.vars.push_back({index.PositionOf(v.node()), v.output()});
        }
        for (const NodePtr& node : match.nodes) binding.nodes.push_back(index.PositionOf(*node));
        binding.symbols = match.symbols;
        binding.dtype = match.dtype;
        if (rule->coverage.Covers(match.symbols, match.dtype) &&
            EditOf(rule->rule(), index, binding).ok()) {
          expected.push_back(match);
        }
        return true;
      });
      WhyNotExplainer explainer(*rule);
      for (int anchor : index.ApplicationsOf(rule->matcher.anchor_op())) {
        const WhyNot answer = explainer.Explain(index, anchor);
        EXPECT_EQ(answer.matches.empty(), answer.missing != Missing::kNothing);
        EXPECT_EQ(answer.reason.empty(), answer.missing == Missing::kNothing);
        ++(answer.matches.empty() ? others : applicable);
        found.insert(found.end(), answer.matches.begin(), answer.matches.end());
      }
      EXPECT_EQ(Sets(found), Sets(expected)) << name << " " << rule->rule().name;
    }
  }
  EXPECT_GT(applicable, 50);
  EXPECT_GT(others, 500);
}

}  // namespace
}  // namespace lemma
