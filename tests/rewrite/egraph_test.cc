#include "rewrite/egraph/egraph.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/parse_testutil.h"

namespace lemma {
namespace {

// Live nodes of the operator `op`.
std::vector<int> NodesOf(const EGraph& egraph, const std::string& op) {
  std::vector<int> nodes;
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    if (egraph.IsLive(n) && egraph.Head(n).IsOp(op)) nodes.push_back(n);
  }
  return nodes;
}

std::vector<MatchedEditPtr> MatchesOf(const EGraph& egraph, const PreparedRule& rule) {
  std::vector<MatchedEditPtr> matched_edits;
  const int anchor = rule.rule().source.outputs[0].node;
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    if (!egraph.IsLive(n)) continue;
    rule.matcher.ForEachAt(egraph, anchor, n, [&](const Binding& match) {
      matched_edits.push_back(MatchedEditOf(rule, egraph, match));
      EXPECT_NE(matched_edits.back(), nullptr);
      return true;
    });
  }
  return matched_edits;
}

// Applies every match of every rule, in `rounds` rounds. Returns how many applications added
// something.
int Saturate(EGraph* egraph, const RuleSet& rules, int rounds) {
  int news = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<MatchedEditPtr> matched_edits;
    for (const PreparedRule* rule : rules.Rules()) {
      for (MatchedEditPtr& matched : MatchesOf(*egraph, *rule))
        matched_edits.push_back(std::move(matched));
    }
    for (MatchedEditPtr& matched : matched_edits) news += egraph->Apply(std::move(matched));
    egraph->Rebuild();
  }
  return news;
}

bool Equal(const EGraph& egraph, ValueRef a, ValueRef b) {
  return egraph.ClassOf(a) == egraph.ClassOf(b);
}

// Checks the promises of Rebuild().
void ExpectConsistent(const EGraph& egraph) {
  std::set<std::string> nodes;
  int live = 0;
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    EXPECT_TRUE(egraph.IsLive(egraph.LiveNode(n)));
    for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) {
      EXPECT_TRUE(Equal(egraph, {n, k}, {egraph.LiveNode(n), k}));
      EXPECT_EQ(egraph.ValueOf(egraph.ClassOf({n, k})), egraph.Canonical({n, k}));
    }
    if (!egraph.IsLive(n)) continue;
    ++live;
    std::string text = absl::StrCat(ContentHash(egraph.Head(n)));
    const auto operands = egraph.Operands(n);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueRef& v = operands[i];
      EXPECT_EQ(v, egraph.Canonical(v));
      absl::StrAppend(&text, " ", egraph.ClassOf(v));
      const auto uses = egraph.Users(v);
      EXPECT_EQ(std::count_if(uses.begin(), uses.end(),
                              [&](const MatchView::Use& use) {
                                return use.position == n && use.slot == static_cast<int>(i);
                              }),
                1);
      EXPECT_TRUE(std::is_sorted(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
        return a.position != b.position ? a.position < b.position : a.slot < b.slot;
      }));
    }
    EXPECT_TRUE(nodes.insert(text).second) << "two equal nodes: " << text;
    for (int k = 0; k < egraph.Head(n).num_outputs(); ++k) {
      const auto equal = egraph.EqualTo(egraph.Canonical({n, k}));
      EXPECT_EQ(std::count(equal.begin(), equal.end(), ValueRef{n, k}), 1);
      for (const ValueRef& v : equal) EXPECT_TRUE(egraph.IsLive(v.node));
    }
  }
  EXPECT_EQ(live, egraph.num_live());
}

constexpr char kReluTwice[] =
    "rule relu_twice(x: [n]) bit_exact { a = relu(x)\n b = relu(a)\n return b } => "
    "{ c = relu(x)\n return c }\n";
constexpr char kReluOnce[] =
    "rule relu_once(x: [n]) bit_exact { a = relu(x)\n return a } => "
    "{ b = relu(x)\n c = relu(b)\n return c }\n";

TEST(EGraphTest, KeepsTheNumbersOfTheGraph) {
  const Graph three = Parse(
      "graph g(x: f32[4], w: weight f32[4]) { a = relu(x) b = add(a, w) c = relu(b)\n"
      "return c, x, b }");
  const Graph graph =
      three.WithOutputs({three.outputs()[0], three.outputs()[1], three.outputs()[0]});
  EGraph egraph(graph, nullptr);
  ASSERT_EQ(egraph.num_originals(), static_cast<int>(graph.nodes().size()));
  EXPECT_EQ(egraph.num_nodes(), egraph.num_originals());
  EXPECT_EQ(egraph.num_live(), egraph.num_originals());
  for (int n = 0; n < egraph.num_originals(); ++n) {
    EXPECT_EQ(egraph.HeadPtr(n), graph.nodes()[n]);
    EXPECT_EQ(egraph.Creator(n), -1);
  }
  ASSERT_EQ(egraph.outputs().size(), 3u);
  EXPECT_EQ(egraph.outputs()[0], egraph.outputs()[2]);
  EXPECT_EQ(egraph.Head(egraph.outputs()[1].node).kind(), Node::Kind::kInput);
  ExpectConsistent(egraph);
}

// iota has no operands, so nothing but `may_fold` decides whether it is folded.
TEST(EGraphTest, WithoutMayFoldNoOperatorIsFolded) {
  const Graph graph = Parse("graph g() { a = iota() {size = 4} b = neg(a) return b }");
  EGraph egraph(graph, nullptr);
  for (int n = 0; n < egraph.num_nodes(); ++n) {
    EXPECT_TRUE(egraph.IsKnown(n));
    EXPECT_FALSE(egraph.IsFolded(n));
  }
}

TEST(EGraphTest, SaysNothingNewTwice) {
  auto rules = RuleSetOf(kReluOnce);
  EGraph egraph(Parse("graph g(x: f32[4]) { a = relu(x) return a }"), nullptr);
  const std::vector<MatchedEditPtr> matched_edits = MatchesOf(egraph, *rules->Rules()[0]);
  ASSERT_EQ(matched_edits.size(), 1u);
  std::vector<int> made;
  EXPECT_TRUE(egraph.Apply(matched_edits[0], &made));
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(egraph.Creator(made[0]), -1) << "relu(x) was there";
  EXPECT_EQ(egraph.Creator(made[1]), 0);
  EXPECT_FALSE(egraph.Apply(matched_edits[0]));
  egraph.Rebuild();
  EXPECT_FALSE(egraph.Apply(matched_edits[0]));
  EXPECT_EQ(egraph.applied_matches().size(), 1u);
  EXPECT_EQ(egraph.applied_matches()[0].made, made);
  ExpectConsistent(egraph);
  // relu(relu(x)) is now relu of its own class, so further rounds add nothing.
  EXPECT_EQ(Saturate(&egraph, *rules, 2), 0);
  EXPECT_EQ(egraph.num_live(), 3);
}

// If two values turn out equal, so do all values computed from them in the same way.
TEST(EGraphTest, IsCongruent) {
  auto rules = RuleSetOf(kReluTwice);
  EGraph egraph(Parse("graph g(x: f32[4], y: f32[4]) { a = relu(x) b = relu(a)\n"
                      "p = add(a, y) q = add(b, y) r = exp(p) s = exp(q) t = neg(r) u = neg(s)\n"
                      "return t, u }"),
                nullptr);
  EXPECT_FALSE(Equal(egraph, egraph.outputs()[0], egraph.outputs()[1]));
  const int num_live = egraph.num_live();
  EXPECT_EQ(Saturate(&egraph, *rules, 1), 1);
  EXPECT_EQ(egraph.outputs()[0], egraph.outputs()[1]);
  EXPECT_EQ(egraph.num_live(), num_live - 3);
  EXPECT_EQ(NodesOf(egraph, "neg").size(), 1u);
  ExpectConsistent(egraph);
}

TEST(EGraphTest, MergesNodesOfSeveralOutputs) {
  auto rules = RuleSetOf(kReluTwice);
  EGraph egraph(Parse("graph g(x: f32[4]) { a = relu(x) b = relu(a)\n"
                      "p, q = split(a) {axis = 0, sizes = [2, 2]}\n"
                      "r, s = split(b) {axis = 0, sizes = [2, 2]}\n"
                      "t = neg(q) u = neg(s) return p, r, t, u, q }"),
                nullptr);
  Saturate(&egraph, *rules, 1);
  const std::vector<ValueRef> outputs = egraph.outputs();
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_EQ(outputs[2], outputs[3]);
  EXPECT_NE(outputs[0], outputs[4]) << "two outputs of one node are two";
  EXPECT_EQ(NodesOf(egraph, "split").size(), 1u);
  ExpectConsistent(egraph);
}

TEST(EGraphTest, OperandsOfCommutativeOperatorsStayInTheirOrder) {
  auto rules = RuleSetOf(
      "rule commute(x: [n], y: [n]) bit_exact { a = add(x, y)\n return a } => "
      "{ b = add(y, x)\n return b }\n");
  EGraph egraph(
      Parse("graph g(x: f32[4], y: f32[4]) { a = add(x, y) b = add(y, x) c = sub(a, b) return c }"),
      nullptr);
  Saturate(&egraph, *rules, 3);
  EXPECT_EQ(NodesOf(egraph, "add").size(), 2u);
  const int sub = NodesOf(egraph, "sub")[0];
  EXPECT_EQ(egraph.Operands(sub)[0], egraph.Operands(sub)[1]);
  ExpectConsistent(egraph);
}

// A match whose inner node is found only in the class of an operand, in either slot.
TEST(EGraphTest, MatchesThroughWhatIsEqual) {
  auto rules = RuleSetOf(
      "rule exp_is_abs(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n return b }\n"
      "rule add_abs(x: [n], y: [n]) real_only { a = abs(x)\n b = add(a, y)\n return b } => "
      "{ c = sub(x, y)\n return c }\n");
  const PreparedRule& second = *rules->Rules()[1];
  for (const char* sum : {"add(a, y)", "add(y, a)"}) {
    EGraph egraph(
        Parse(absl::StrCat("graph g(x: f32[4], y: f32[4]) { a = exp(x) b = ", sum, " return b }")),
        nullptr);
    EXPECT_TRUE(MatchesOf(egraph, second).empty());
    EXPECT_EQ(Saturate(&egraph, *rules, 1), 1);
    const std::vector<MatchedEditPtr> matched_edits = MatchesOf(egraph, second);
    ASSERT_EQ(matched_edits.size(), 1u) << sum;
    EXPECT_EQ(matched_edits[0]->match.nodes[0], NodesOf(egraph, "abs")[0]);
    EXPECT_EQ(egraph.Head(matched_edits[0]->match.vars[1].node).input_index(), 1);
    EXPECT_EQ(Saturate(&egraph, *rules, 1), 1);
    EXPECT_EQ(egraph.ClassOf({NodesOf(egraph, "sub")[0], 0}), egraph.ClassOf(egraph.outputs()[0]));
    ExpectConsistent(egraph);
  }
}

// A pattern node that is read twice must match one value, but any node of its class.
TEST(EGraphTest, WhatIsReadTwiceIsOneValue) {
  auto rules = RuleSetOf(
      "rule is_abs(x: [n]) real_only { a = exp(x)\n return a } => { b = abs(x)\n return b }\n"
      "rule square(x: [n]) real_only { a = abs(x)\n b = mul(a, a)\n return b } => "
      "{ c = mul(x, x)\n return c }\n"
      "rule both(x: [n]) real_only { a = abs(x)\n b = neg(a)\n c = add(a, b)\n return c } => "
      "{ d = sub(x, x)\n return d }\n");
  EGraph egraph(Parse("graph g(x: f32[4], y: f32[4]) { a = exp(x) b = exp(y) c = mul(a, a)\n"
                      "d = mul(a, b) e = neg(a) f = add(a, e) h = add(b, e)\n"
                      "return c, d, f, h }"),
                nullptr);
  EXPECT_EQ(Saturate(&egraph, *rules, 1), 2);
  EXPECT_EQ(MatchesOf(egraph, *rules->Rules()[1]).size(), 1u);
  EXPECT_EQ(MatchesOf(egraph, *rules->Rules()[2]).size(), 1u);
  Saturate(&egraph, *rules, 1);
  EXPECT_EQ(NodesOf(egraph, "mul").size(), 3u);
  EXPECT_EQ(NodesOf(egraph, "sub").size(), 1u);
  ExpectConsistent(egraph);
}

// A rule of two outputs, the second of which is found among the users of a class.
TEST(EGraphTest, RulesOfSeveralOutputs) {
  auto rules = RuleSetOf(
      "rule unwrap(x: [n, m]) bit_exact { a = relu(x)\n b = relu(a)\n return b } => "
      "{ c = relu(x)\n return c }\n"
      "rule merge(x: [m,k], a: [k,n], b: [k,l]) reassociates { p = matmul(x, a)\n"
      "q = matmul(x, b)\n return p, q } => { w = concat(a, b) {axis = 1}\n y = matmul(x, w)\n"
      "p, q = split(y) {axis = 1, sizes = [n, l]}\n return p, q }\n");
  EGraph egraph(Parse("graph g(z: f32[2,3], a: f32[3,4], b: f32[3,5]) { r = relu(z) s = relu(r)\n"
                      "p = matmul(r, a) q = matmul(s, b) return p, q }"),
                nullptr);
  const std::vector<ValueRef> outputs = egraph.outputs();
  EXPECT_TRUE(MatchesOf(egraph, *rules->Rules()[1]).empty()) << "they share no operand yet";
  EXPECT_EQ(Saturate(&egraph, *rules, 1), 1);
  ASSERT_EQ(MatchesOf(egraph, *rules->Rules()[1]).size(), 1u) << "alike siblings count once";
  EXPECT_EQ(Saturate(&egraph, *rules, 1), 1);
  for (int split : NodesOf(egraph, "split")) {
    EXPECT_TRUE(Equal(egraph, {split, 0}, outputs[0]));
    EXPECT_TRUE(Equal(egraph, {split, 1}, outputs[1]));
  }
  EXPECT_EQ(NodesOf(egraph, "split").size(), 1u);
  ExpectConsistent(egraph);
}

// A class is known if any of its nodes is.
TEST(EGraphTest, OneMemberSaysThatAValueIsKnown) {
  auto rules = RuleSetOf(
      "rule zero(x: [n]) real_only { a = sub(x, x)\n return a } => "
      "{ b = constant [n] fill 0.0\n return b }\n"
      "rule known(x: [n], c: constant [n]) real_only { a = add(x, c)\n b = exp(a)\n return b } => "
      "{ d = abs(x)\n return d }\n"
      "rule weight(x: [n], w: weight [n]) real_only { a = mul(x, w)\n return a } => "
      "{ d = neg(x)\n return d }\n");
  const Graph graph = Parse(
      "graph g(x: f32[4], y: f32[4], w: weight f32[4], c: weight f32[4] = fill 2.0) {\n"
      "a = sub(x, x) b = relu(a) d = add(y, b) e = exp(d) f = mul(y, b)\n"
      "h = relu(c) i = relu(w) return e, f, h, i }");
  EGraph egraph(graph, [](const Node& node) { return node.IsOp("relu"); });
  auto relu_of = [&](Node::Kind kind) {
    for (int n : NodesOf(egraph, "relu")) {
      if (egraph.Head(egraph.Operands(n)[0].node).kind() == kind) return n;
    }
    return -1;
  };
  auto by_name = [&](const std::string& name) {
    for (int n : NodesOf(egraph, "relu")) {
      const Node& operand = egraph.Head(egraph.Operands(n)[0].node);
      if (operand.kind() == Node::Kind::kWeight && operand.name() == name) return n;
    }
    return -1;
  };
  EXPECT_TRUE(egraph.IsFolded(by_name("c")) && egraph.IsKnown(by_name("c")));
  EXPECT_TRUE(egraph.IsStatic(by_name("w")) && !egraph.IsKnown(by_name("w")));
  const int sub = NodesOf(egraph, "sub")[0];
  EXPECT_FALSE(egraph.IsStatic(sub));
  EXPECT_TRUE(MatchesOf(egraph, *rules->Rules()[1]).empty());
  EXPECT_TRUE(MatchesOf(egraph, *rules->Rules()[2]).empty());

  Saturate(&egraph, *rules, 1);
  EXPECT_FALSE(egraph.IsStatic(sub)) << "the node itself reads an input";
  EXPECT_EQ(egraph.Head(egraph.Canonical({sub, 0}).node).kind(), Node::Kind::kConstant);
  EXPECT_TRUE(egraph.IsFolded(relu_of(Node::Kind::kConstant)));
  EXPECT_EQ(MatchesOf(egraph, *rules->Rules()[1]).size(), 1u);
  EXPECT_EQ(MatchesOf(egraph, *rules->Rules()[2]).size(), 1u);
  Saturate(&egraph, *rules, 1);
  EXPECT_EQ(NodesOf(egraph, "abs").size(), 1u);
  EXPECT_EQ(NodesOf(egraph, "neg").size(), 1u);
  ExpectConsistent(egraph);
}

// A cycle of nodes that know each other proves nothing known.
TEST(EGraphTest, ACycleKnowsNothing) {
  auto rules = RuleSetOf(kReluOnce);
  EGraph egraph(Parse("graph g(x: f32[4]) { a = relu(x) return a }"),
                [](const Node&) { return true; });
  Saturate(&egraph, *rules, 2);
  for (int n : NodesOf(egraph, "relu")) EXPECT_FALSE(egraph.IsStatic(n));
}

TEST(EGraphTest, ValuesOfTheGraphThatTurnOutEqual) {
  auto rules = RuleSetOf(
      "rule there_and_back(x: [n, m]) bit_exact { a = transpose(x) {perm = [1, 0]}\n"
      "b = transpose(a) {perm = [1, 0]}\n return b } => { return x }\n");
  EGraph egraph(Parse("graph g(x: f32[2,2]) { a = transpose(x) {perm = [1, 0]}\n"
                      "b = transpose(a) {perm = [1, 0]} c = transpose(b) {perm = [1, 0]}\n"
                      "return c, b, x }"),
                nullptr);
  EXPECT_EQ(Saturate(&egraph, *rules, 1), 2);
  const std::vector<ValueRef> outputs = egraph.outputs();
  EXPECT_EQ(outputs[1], outputs[2]);
  EXPECT_EQ(egraph.EqualTo(outputs[1]).size(), 2u) << "x itself, and what comes back";
  EXPECT_EQ(NodesOf(egraph, "transpose").size(), 2u) << "of x and of its transpose";
  EXPECT_EQ(Saturate(&egraph, *rules, 2), 0);
  ExpectConsistent(egraph);
}

}  // namespace
}  // namespace lemma
