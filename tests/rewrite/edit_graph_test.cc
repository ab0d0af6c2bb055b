// A graph edited in place, compared with immutable graphs; its matches, compared with a new search.
#include "rewrite/matching/edit_graph.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/checker.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/match_set.h"
#include "rewrite/matching/topological_order.h"
#include "tests/optimizer/transformer_text.h"

namespace lemma {
namespace {

const RuleSet& Starter() {
  static const RuleSet* rules = RuleSet::Load("data/rules/starter.txt")->release();
  return *rules;
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Convolutions with batch norms, siblings, a residual sum, constants that are shared.
constexpr char kConvolutions[] = R"(
graph net(x: f32[1,8,6,6], f1: weight f32[8,8,3,3], f2: weight f32[8,8,3,3], f3: weight f32[8,8,1,1],
    s: weight f32[8], b: weight f32[8], m: weight f32[8], v: weight f32[8]) {
  c1 = conv2d(x, f1) {pads = [1, 1, 1, 1]}
  n1 = batch_norm(c1, s, b, m, v) {epsilon = 1e-05}
  r1 = relu(n1)
  c2 = conv2d(x, f2) {pads = [1, 1, 1, 1]}
  n2 = batch_norm(c2, s, b, m, v) {epsilon = 1e-05}
  r2 = relu(n2)
  c3 = conv2d(r1, f3)
  a = add(c3, r2)
  r3 = relu(a)
  r4 = relu(r3)
  j = concat(r1, r4) {axis = 1}
  t = transpose(j) {perm = [0, 2, 3, 1]}
  u = transpose(t) {perm = [0, 3, 1, 2]}
  return u, r3
})";

Graph ApplyTo(const Graph& graph, const MatchedEdit& matched, const std::vector<NodePtr>& nodes) {
  const MatchIndex index(graph);
  Match match;
  for (const ValueRef& v : matched.match.vars) match.vars.emplace_back(nodes[v.node], v.output);
  for (int node : matched.match.nodes) match.nodes.push_back(nodes[node]);
  match.symbols = matched.match.symbols;
  match.dtype = matched.match.dtype;
  auto result = Apply(matched.rule->rule(), match, index);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// Matches by rule and by the values that they bind, with numbers that do not depend on the order of
// edits.
std::map<std::string, int> Described(const EditGraph& graph, const MatchSet& matches) {
  std::vector<NodePtr> nodes;
  const Graph now = graph.ToGraph(&nodes);
  const MatchIndex index(now);
  std::map<std::string, int> result;
  for (int m = 0; m < matches.size(); ++m) {
    if (!matches.IsAlive(m)) continue;
    const Binding& match = matches.matched(m)->match;
    std::string text = absl::StrCat(matches.matched(m)->rule->rule().name, " vars");
    for (const ValueRef& v : match.vars) {
      absl::StrAppend(&text, " ", index.PositionOf(*nodes[v.node]), ".", v.output);
    }
    // Equal siblings match in one order only, that of their numbers, which is arbitrary.
    std::vector<int> bound;
    for (int node : match.nodes) bound.push_back(index.PositionOf(*nodes[node]));
    std::sort(bound.begin(), bound.end());
    absl::StrAppend(&text, " nodes");
    for (int position : bound) absl::StrAppend(&text, " ", position);
    ++result[text];
  }
  return result;
}

// Rules whose matches do not depend on which of two siblings comes first.
RuleIndexPtr OneAnchorRules() {
  std::vector<const PreparedRule*> rules;
  for (const PreparedRule* rule : Starter().Rules()) {
    const auto& outputs = rule->rule().source.outputs;
    if (std::all_of(outputs.begin(), outputs.end(),
                    [&](const PatternValue& v) { return v.node == outputs[0].node; })) {
      rules.push_back(rule);
    }
  }
  return std::make_shared<const RuleIndex>(std::move(rules));
}

void Walk(const Graph& start, int seed, int steps) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  EditGraph graph(start, {});
  MatchSet matches(std::make_shared<const RuleIndex>(Starter().Rules()), &graph);
  MatchSet simple(OneAnchorRules(), &graph);
  const uint64_t hash = graph.hash();
  const auto at_first = Described(graph, matches);
  Graph expected = start;
  std::vector<NodePtr> nodes;
  ASSERT_EQ(graph.ToGraph(&nodes).StructuralHash(), start.StructuralHash());
  for (int step = 0; step < steps; ++step) {
    std::vector<int> usable;
    for (int m = 0; m < matches.size(); ++m) {
      if (matches.IsAlive(m) && matches.IsApplicable(*matches.matched(m))) usable.push_back(m);
    }
    if (usable.empty()) break;
    const MatchedEditPtr matched = matches.matched(usable[random() % usable.size()]);
    SCOPED_TRACE(absl::StrCat("step ", step, ": ", matched->rule->rule().name));
    expected = ApplyTo(expected, *matched, nodes);
    const size_t mark = graph.mark();
    graph.Apply(matched->edit);
    matches.Update(mark);
    simple.Update(mark);
    const Graph now = graph.ToGraph(&nodes);
    ASSERT_TRUE(CheckGraph(now).ok()) << CheckGraph(now);
    ASSERT_TRUE(CheckSameInterface(start, now).ok());
    ASSERT_EQ(now.StructuralHash(), expected.StructuralHash())
        << PrintGraph(now) << PrintGraph(expected);
    ASSERT_EQ(now.num_ops(), graph.num_ops());
    const std::vector<int> order = graph.GraphOrder();
    ASSERT_EQ(graph.StructuralHash(order), now.StructuralHash());
    ASSERT_EQ(order.size(), now.nodes().size());
    for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(nodes[order[i]], now.nodes()[i]);
    EditGraph anew(now, {});
    ASSERT_EQ(Described(graph, simple), Described(anew, MatchSet(OneAnchorRules(), &anew)));
  }
  graph.UndoTo(0);
  matches.UndoTo(0);
  EXPECT_EQ(graph.hash(), hash);
  EXPECT_EQ(graph.num_nodes(), static_cast<int>(start.nodes().size()));
  EXPECT_EQ(graph.ToGraph().StructuralHash(), start.StructuralHash());
  EXPECT_EQ(Described(graph, matches), at_first);
}

TEST(EditGraphTest, DoesWhatApplyDoes) {
  for (int seed = 0; seed < 20; ++seed) {
    Walk(Parse(kConvolutions), seed, 15);
    Walk(Parse(optimizer::TransformerText({1})), seed, 15);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// One graph reached in different ways has one hash; different graphs have different hashes.
TEST(EditGraphTest, HashForgetsTheOrderOfEdits) {
  EditGraph graph(Parse(optimizer::TransformerText({2})), {});
  MatchSet matches(std::make_shared<const RuleIndex>(Starter().Rules()), &graph);
  std::map<uint64_t, uint64_t> structural;  // by hash
  int pairs = 0;
  auto note = [&] {
    const uint64_t now = graph.ToGraph().StructuralHash();
    EXPECT_EQ(structural.emplace(graph.hash(), now).first->second, now);
  };
  for (int a = 0; a < matches.size(); ++a) {
    for (int b = a + 1; b < matches.size(); b += 7) {
      const MatchedEdit &first = *matches.matched(a), &second = *matches.matched(b);
      uint64_t hashes[2];
      bool both = true;
      for (bool swapped : {false, true}) {
        const size_t mark = graph.mark();
        graph.Apply(swapped ? second.edit : first.edit);
        note();
        for (int node : (swapped ? first : second).match.nodes) {
          const std::vector<int> touched = graph.TouchedSince(mark);
          both &= !std::binary_search(touched.begin(), touched.end(), node);
        }
        if (both) graph.Apply(swapped ? first.edit : second.edit);
        hashes[swapped] = graph.hash();
        graph.UndoTo(mark);
        if (!both) break;
      }
      if (!both) continue;
      EXPECT_EQ(hashes[0], hashes[1]);
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 100);
}

// Depends says which nodes depend on which values, so that a rule does not merge siblings of which
// one depends on the other.
TEST(EditGraphTest, KnowsWhatDependsOnWhat) {
  EditGraph graph(Parse("graph g(x: f32[4]) { a = relu(x)\n b = exp(a)\n c = neg(x)\n "
                        "d = add(b, c)\n return d }"),
                  {});
  auto node = [&](const char* op) {
    for (int n = 0; n < graph.num_nodes(); ++n) {
      if (graph.Head(n).IsOp(op)) return n;
    }
    return -1;
  };
  const int relu = node("relu"), neg = node("neg");
  EXPECT_TRUE(graph.Depends({{node("exp"), 0}}, {relu}));
  EXPECT_FALSE(graph.Depends({{relu, 0}}, {node("exp")}));
  EXPECT_FALSE(graph.Depends({{neg, 0}}, {relu}));
  // relu's user now reads neg, so everything that followed either depends on neg alone.
  Edit edit;
  edit.replaced.push_back({{relu, 0}, {neg, 0}});
  graph.Apply(edit);
  EXPECT_FALSE(graph.IsLive(relu));
  EXPECT_TRUE(graph.Depends({{node("exp"), 0}}, {neg}));
}

// Nodes 3i + 1 and 3i + 2 read node 3i, and node 3i + 3 reads both, so there are 2^60 paths.
TEST(RaiseRankTest, RaisesEachNodeOnceHoweverManyWaysLeadToIt) {
  constexpr int kNodes = 3 * 60 + 1;
  std::vector<int64_t> rank(kNodes);
  for (int n = 0; n < kNodes; ++n) rank[n] = 2 * (n / 3) + (n % 3 != 0);
  int raised = 0;
  MaintainTopologicalOrder(
      0, 10, [&](int n) { return rank[n]; },
      [&](int n, int64_t to) {
        rank[n] = to;
        ++raised;
      },
      [&](int n, const auto& visit) {
        if (n % 3 != 0) {
          visit(n / 3 * 3 + 3);
        } else if (n + 1 < kNodes) {
          visit(n + 1);
          visit(n + 2);
        }
      });
  EXPECT_EQ(raised, kNodes);
  EXPECT_EQ(rank.back(), 10 + 2 * 60);
}

}  // namespace
}  // namespace lemma
