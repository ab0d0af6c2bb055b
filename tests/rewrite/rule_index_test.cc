// The index of rules against the plain matcher.
#include "rewrite/matching/rule_index.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/examples/random_graph.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/random_rewrites.h"
#include "rewrite/egraph/egraph.h"
#include "rewrite/matching/match_set.h"
#include "tests/rewrite/parse_testutil.h"
#include "tests/rewrite/proved_rules.h"

namespace lemma {
namespace {

constexpr int kGraphs = 60;

std::vector<Substitution> AllRules() {
  std::vector<Substitution> all;
  for (const char* file : {"starter", "generated_inference", "taso", "taso_2d", "taso_4",
                           "taso_plus", "training", "training_2d", "transformer"}) {
    for (Substitution& rule : ProvedRules(absl::StrCat(file, ".txt"), absl::StrCat(file, "."))) {
      all.push_back(std::move(rule));
    }
  }
  return all;
}

const RuleSet& All() {
  static const RuleSet* rules = RuleSet::Create(AllRules())->release();
  return *rules;
}

const RuleIndex& AllIndexed() {
  static const auto* index = new RuleIndex(All().Rules());
  return *index;
}

// What the matcher finds from one start, in order.
std::string MatchesFrom(const MatchView& view, const PreparedRule& rule, int number, int node) {
  std::string text;
  rule.matcher.ForEachAt(view, number, node, [&](const Binding& match) {
    absl::StrAppend(&text, rule.rule().name, " from ", number, " nodes");
    for (int n : match.nodes) absl::StrAppend(&text, " ", n);
    absl::StrAppend(&text, " vars");
    for (const ValueRef& v : match.vars) absl::StrAppend(&text, " ", v.node, ".", v.output);
    text += "\n";
    return true;
  });
  return text;
}

struct Counts {
  int64_t matches = 0, tried = 0, plain = 0;
};

// Compares matches at all live operators of `view`, from all starts and from anchors only.
template <typename View>
void Compare(const View& view, int num_nodes, Counts* counts) {
  const RuleIndex& index = AllIndexed();
  std::vector<RuleIndex::Start> starts, anchors;
  for (int node = 0; node < num_nodes; ++node) {
    if (!view.Head(node).is_op()) continue;
    index.StartsAt(view, node, &starts);
    index.AnchorsAt(view, node, &anchors);
    std::string found, at_anchors, plain, plain_at_anchors;
    for (const RuleIndex::Start& s : starts) {
      found += MatchesFrom(view, *index.rules()[s.rule], s.number, node);
    }
    for (const RuleIndex::Start& s : anchors) {
      at_anchors += MatchesFrom(view, *index.rules()[s.rule], s.number, node);
    }
    for (const PreparedRule* rule : index.rules()) {
      const Pattern& source = rule->rule().source;
      for (size_t n = 0; n < source.nodes.size(); ++n) {
        if (source.nodes[n].op != &view.Head(node).op()) continue;
        const int number = static_cast<int>(n);
        const std::string matches = MatchesFrom(view, *rule, number, node);
        plain += matches;
        if (number == source.outputs[0].node) plain_at_anchors += matches;
        ++counts->plain;
        counts->matches += matches.empty() ? 0 : 1;
      }
    }
    counts->tried += static_cast<int64_t>(starts.size());
    ASSERT_EQ(found, plain) << "node " << node;
    ASSERT_EQ(at_anchors, plain_at_anchors) << "node " << node;
  }
}

RandomGraph GraphWithMatches(uint64_t seed) {
  RandomGraphOptions options;
  options.operators = 10;
  options.part = [](uint64_t part) { return RandomSource(All().rules(), part); };
  return MakeRandomGraph(seed, options);
}

TEST(RuleIndexTest, FindsWhatTheMatcherFinds) {
  Counts counts;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = GraphWithMatches(seed).graph;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", PrintGraph(graph)));
    const MatchIndex view(graph);
    Compare(view, view.num_nodes(), &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.matches, 20 * kGraphs);
  // Half of the starts that it gives lead to a match, and it gives few.
  EXPECT_LT(counts.tried, 2 * counts.matches);
  EXPECT_LT(10 * counts.tried, counts.plain);
}

TEST(RuleIndexTest, FindsWhatTheMatcherFindsWhileAGraphChanges) {
  Counts counts;
  const auto rules = std::make_shared<const RuleIndex>(All().Rules());
  for (uint64_t seed = 100; seed < 100 + kGraphs / 3; ++seed) {
    const Graph start = GraphWithMatches(seed).graph;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", PrintGraph(start)));
    EditGraph graph(start, {});
    MatchSet matches(rules, &graph);
    for (int m = 0; m < matches.size() && m < 40; m += 7) {
      if (!matches.IsAlive(m) || !matches.IsApplicable(*matches.matched(m))) continue;
      const size_t mark = graph.mark();
      const MatchedEditPtr matched = matches.matched(m);
      graph.Apply(matched->edit);
      matches.Update(mark);
    }
    Compare(graph, graph.num_nodes(), &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.matches, 5 * kGraphs);
}

// Values of a class are alternatives: the index must look at all of them.
TEST(RuleIndexTest, FindsWhatTheMatcherFindsInAnEGraph) {
  Counts counts;
  for (uint64_t seed = 200; seed < 200 + kGraphs / 3; ++seed) {
    const Graph graph = GraphWithMatches(seed).graph;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", PrintGraph(graph)));
    EGraph egraph(graph, [](const Node&) { return false; });
    std::vector<MatchedEditPtr> edits;
    for (size_t r = 0; r < All().Rules().size() && edits.size() < 20; ++r) {
      const PreparedRule& rule = *All().Rules()[r];
      for (int node = 0; node < egraph.num_nodes(); ++node) {
        rule.matcher.ForEachAt(egraph, rule.rule().source.outputs[0].node, node,
                               [&](const Binding& match) {
                                 auto edit = MatchedEditOf(rule, egraph, match);
                                 if (edit != nullptr) edits.push_back(std::move(edit));
                                 return true;
                               });
      }
    }
    for (MatchedEditPtr& edit : edits) egraph.Apply(std::move(edit));
    egraph.Rebuild();
    Compare(egraph, egraph.num_nodes(), &counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.matches, 5 * kGraphs);
}

// The rules whose starts the index gives at the node that computes `label`.
std::string StartsAt(const RuleSet& rules, const std::string& text) {
  const Graph graph = Parse(text);
  const MatchIndex view(graph);
  const RuleIndex index(rules.Rules());
  std::vector<RuleIndex::Start> starts;
  index.StartsAt(view, view.PositionOf(graph.outputs()[0].node()), &starts);
  std::string names;
  for (const RuleIndex::Start& start : starts) {
    absl::StrAppend(&names, names.empty() ? "" : " ", index.rules()[start.rule]->rule().name, ".",
                    start.number);
  }
  return names;
}

TEST(RuleIndexTest, LooksAtBothOrdersOfCommutativeOperands) {
  const auto rules = RuleSetOf(R"(
    rule left(x: [n], y: [n]) reassociates {
      a = relu(x) b = add(a, y) return b
    } => { a = relu(x) b = add(y, a) return b }
    rule minus(x: [n], y: [n]) reassociates {
      a = relu(x) b = sub(a, y) return b
    } => { a = relu(x) c = neg(y) b = add(a, c) return b })");
  EXPECT_EQ(
      StartsAt(*rules, "graph g(x: f32[3], y: f32[3]) { a = relu(y) b = add(x, a) return b }"),
      "left.1");
  EXPECT_EQ(
      StartsAt(*rules, "graph g(x: f32[3], y: f32[3]) { a = relu(y) b = sub(x, a) return b }"), "");
}

TEST(RuleIndexTest, LooksAtRanksRolesAndAttributes) {
  const auto rules = RuleSetOf(R"(
    rule scalar(x: [b..], s: []) reassociates {
      a = mul(x, s) return a
    } => { a = mul(s, x) return a }
    rule weights(x: [n], w: weight [n]) reassociates {
      a = mul(x, w) return a
    } => { a = mul(w, x) return a }
    rule last(x: [n,m], y: [n,m]) bit_exact {
      a = concat(x, y) {axis = 1} return a
    } => { a = concat(x, y) {axis = 1} return a }
    rule first(x: [n,m], y: [n,m]) bit_exact {
      a = concat(x, y) {axis = 0} return a
    } => { a = concat(x, y) {axis = 0} return a })");
  EXPECT_EQ(StartsAt(*rules, "graph g(x: f32[3], y: f32[3]) { a = mul(x, y) return a }"), "");
  EXPECT_EQ(StartsAt(*rules, "graph g(x: f32[3], y: f32[]) { a = mul(x, y) return a }"),
            "scalar.0");
  EXPECT_EQ(StartsAt(*rules, "graph g(x: f32[3], y: weight f32[3]) { a = mul(x, y) return a }"),
            "weights.0");
  EXPECT_EQ(StartsAt(*rules,
                     "graph g(x: f32[3,2], y: f32[3,2]) { a = concat(x, y) {axis = 1} return a }"),
            "last.0");
}

}  // namespace
}  // namespace lemma
