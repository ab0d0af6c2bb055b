#include "pet/finder.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/rule.h"
#include "rewrite/matching/match_index.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/base/repetitions.h"

namespace lemma::pet {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Two equal convolutions, and between them an operator that is no sum of products.
const char kModel[] = R"(graph model(x: f32[2,2,4,6], v: weight f32[2,2,3,3] = fill 1.0,
                                     w: weight f32[2,2,3,3] = fill 2.0) {
  a = conv2d(x, v) {pads = [1,1,1,1]}
  b = relu(a)
  y = conv2d(b, w) {pads = [1,1,1,1]}
  return y
})";

PetOptions AnyCost() {
  PetOptions options;
  options.candidates.keep = 3;
  options.candidates.look_at = 6;
  options.max_cost = 100;
  options.candidates.cost = options.candidates.estimate =
      [](const Graph& graph) -> absl::StatusOr<int64_t> { return graph.num_ops(); };
  return options;
}

TEST(SubprogramTest, EqualPartsAreOne) {
  auto parts = SubprogramsOf(Parse(kModel));
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ((*parts)[0].occurrences, 2);
  EXPECT_EQ((*parts)[0].graph.num_ops(), 1);
}

TEST(SubprogramTest, ChainsWhoseInnerValuesNothingElseUses) {
  const char chain[] = R"(graph g(x: f32[1,1,5,5], w: weight f32[1,1,3,3] = fill 1.0) {
    a = conv2d(x, w)
    y = conv2d(a, w)
    return y, a })";
  EXPECT_EQ(SubprogramsOf(Parse(chain))->size(), 2u);
  EXPECT_EQ(SubprogramsOf(Parse(absl::StrReplaceAll(chain, {{"return y, a", "return y"}})))->size(),
            3u);
}

TEST(SubprogramTest, SiblingsThatAreJoined) {
  const char siblings[] = R"(graph g(x: f32[1,1,5,5], v: weight f32[1,1,3,3] = fill 1.0,
                                     w: weight f32[1,1,3,3] = fill 2.0) {
    a = conv2d(x, v)
    b = conv2d(x, w)
    y = add(a, b)
    return y })";
  auto parts = SubprogramsOf(Parse(siblings));
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[1].graph.num_ops(), 3);
  // No rule if one of them is used elsewhere.
  EXPECT_EQ(
      SubprogramsOf(Parse(absl::StrReplaceAll(siblings, {{"return y", "return y, a"}})))->size(),
      1u);
}

TEST(SubprogramTest, OnlySumsOfProducts) {
  const Graph g = Parse(R"(graph g(x: f32[1,2,5,5]) {
    a = max_pool2d(x) {kernel = [2,2]}
    b = exp(a)
    c = transpose(b) {perm = [0,1,3,2]}
    return c })");
  EXPECT_TRUE(SubprogramsOf(g)->empty());
}

TEST(PetFinderTest, AnEqualPartIsRemembered) {
  PetFinder finder(AnyCost());
  const Graph model = Parse(kModel);
  auto first = finder.RulesFor(model);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(finder.hits(), 0);
  auto again = finder.RulesFor(model);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(finder.hits(), 1);
  ASSERT_EQ(first->size(), 3u);
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ(PrintRule((*again)[i].rule), PrintRule((*first)[i].rule));
  }
}

// All rules found for a model, in words.
std::string FoundFor(const Graph& model, int64_t* hits) {
  PetOptions options = AnyCost();
  options.candidates.keep = options.candidates.look_at = 40;
  PetFinder finder(options);
  auto rules = finder.RulesFor(model);
  EXPECT_TRUE(rules.ok()) << rules.status();
  *hits = finder.hits();
  std::string text;
  for (const PetRule& rule : *rules) {
    absl::StrAppend(&text, PrintRule(rule.rule), rule.candidate.mutant.how(), "\n",
                    rule.candidate.corrector, " ", rule.candidate.cost, " ",
                    rule.candidate.region.tested);
    for (const Box& box : rule.candidate.region.differs) absl::StrAppend(&text, ToString(box));
  }
  return text;
}

// Convolutions, one of them twice, a mean, a product: parts of every kind.
const char kKinds[] = R"(graph model(x: f32[2,2,4,6], v: weight f32[2,2,3,3] = fill 1.0,
                                     w: weight f32[4,2,1,1] = fill 2.0) {
  a = conv2d(x, v) {pads = [1,1,1,1]}
  b = relu(a)
  c = conv2d(b, v) {pads = [1,1,1,1]}
  d = relu(c)
  e = conv2d(d, w)
  f = relu(e)
  g = avg_pool2d(f) {kernel = [2,2], pads = [1,0,1,0]}
  return g
})";

TEST(PetFinderTest, TheSameInEveryRun) {
  int64_t hits = 0;
  const std::string first = FoundFor(Parse(kKinds), &hits);
  EXPECT_EQ(hits, 0);
  EXPECT_THAT(first, testing::HasSubstr("matmul"));
  EXPECT_THAT(first, testing::HasSubstr("overwrite"));
  for (int run = 1; run < WholeOr(20, 4); ++run)
    ASSERT_EQ(FoundFor(Parse(kKinds), &hits), first) << run;
}

// The finder remembers its answer for an equal part of another model.
TEST(PetFinderTest, AnEqualPartOfAnotherModelIsRemembered) {
  const Graph model = Parse(kModel);
  const Graph other =
      Parse(absl::StrReplaceAll(kModel, {{"relu", "tanh"}, {"fill 2.0", "fill 5.0"}}));
  PetFinder finder(AnyCost());
  auto first = finder.RulesFor(model), second = finder.RulesFor(other);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(finder.hits(), 1);
  auto fresh = PetFinder(AnyCost()).RulesFor(other);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  ASSERT_EQ(second->size(), fresh->size());
  for (size_t i = 0; i < fresh->size(); ++i) {
    EXPECT_EQ(PrintRule((*second)[i].rule), PrintRule((*fresh)[i].rule));
    EXPECT_EQ((*second)[i].candidate.region.differs, (*fresh)[i].candidate.region.differs);
  }
}

TEST(PetFinderTest, RulesApplyWhereverThePartOccurs) {
  const Graph model = Parse(kModel);
  auto found = PetFinder(AnyCost()).RulesFor(model);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<Substitution> rules;
  for (const PetRule& rule : *found) {
    EXPECT_EQ(ProofProblem(rule.rule), "");
    // The text reads back.
    auto read = ParseRules(PrintRule(rule.rule));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PrintRule((*read)[0]), PrintRule(rule.rule));
    EXPECT_EQ(ProofProblem((*read)[0]), "");
    rules.push_back(rule.rule);
  }
  auto set = RuleSet::Create(rules);
  ASSERT_TRUE(set.ok()) << set.status();
  size_t applied = 0;
  const MatchIndex index(model);
  (*set)->ForEach(index, [&](const Rewrite& rewrite) {
    auto result = rewrite.Apply();
    EXPECT_TRUE(result.ok()) << result.status();
    ++applied;
    return true;
  });
  EXPECT_EQ(applied, 2 * rules.size());
}

TEST(GroundRuleTest, SaysTheSizes) {
  const Graph source = Parse(R"(graph g(x: f32[2,3], w: weight f32[3,4] = fill 1.0) {
    y = matmul(x, w)
    return y })");
  auto rule = ProvedGroundRule("pet_1", source, source, "at these sizes");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_THAT(PrintRule(*rule),
              testing::HasSubstr("rule pet_1(x0: f32[2,3], x1: weight f32[3,4])"));
  EXPECT_EQ(rule->proof.detail, "at these sizes");
}

}  // namespace
}  // namespace lemma::pet
