// Deriving rules from others.
#include "rewrite/derivation/derive.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/prune.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/derivation/typings.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kColumns[] = R"(
rule columns(x: [m,k], y: [k,n], z: [k,n2]) bit_exact {
  a = concat(y, z) {axis = 1}
  b = matmul(x, a)
  return b
} => {
  a = matmul(x, y)
  b = matmul(x, z)
  c = concat(a, b) {axis = 1}
  return c
}
rule parts(x: [m,n], y: [m,n2]) bit_exact {
  a = concat(x, y) {axis = 1}
  b, c = split(a) {axis = 1, sizes = [n, n2]}
  return b, c
} => {
  return x, y
})";
constexpr char kMerge[] = R"(
rule merge(x: [m,k], y: [k,n], z: [k,n2]) bit_exact {
  a = matmul(x, y)
  b = matmul(x, z)
  return a, b
} => {
  e = concat(y, z) {axis = 1}
  f = matmul(x, e)
  a, b = split(f) {axis = 1, sizes = [n, n2]}
  return a, b
})";

std::vector<Substitution> Rules(absl::string_view text) {
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *rules : std::vector<Substitution>();
}

// The derivation of the only rule in `text`, in words; each step is repeated.
std::string Derived(absl::string_view rules, absl::string_view text,
                    const DeriveLimits& limits = {}) {
  const Deriver deriver(Rules(rules));
  auto derived = DeriveRule(deriver, Rules(text).at(0), limits);
  if (!derived.ok()) return std::string(derived.status().message());
  if (!derived->found()) return NotFound(derived->typings.back().result);
  for (const RuleDerivation::AtTyping& typing : derived->typings) {
    EXPECT_EQ(deriver.Check(*typing.result.derivation), absl::OkStatus());
  }
  return Summary(deriver, *derived->typings[0].result.derivation);
}

std::string Rule(absl::string_view params, absl::string_view source, absl::string_view target) {
  return absl::StrCat("rule r(", params, ") reassociates {", source, "} => {", target, "}\n");
}

TEST(DeriveTest, UsesRulesInBothDirections) {
  EXPECT_EQ(Derived(kColumns, kMerge), "2 steps: parts backward, columns backward");
  EXPECT_EQ(Derived(kMerge, kMerge), "1 step: merge");
}

TEST(DeriveTest, ShowsEachGraph) {
  const Deriver deriver(Rules(kColumns));
  auto graph = [](const char* body) {
    auto parsed =
        ParseGraph(absl::StrCat("graph g(x: f32[2,3], y: f32[3,4], z: f32[3,5]) {", body));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *parsed;
  };
  auto result = deriver.Derive(graph("a = matmul(x, y) b = matmul(x, z) return a, b }"),
                               graph("e = concat(y, z) {axis = 1} f = matmul(x, e) "
                                     "a, b = split(f) {axis = 1, sizes = [4, 5]} return a, b }"));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->derivation);
  ASSERT_EQ(result->derivation->steps.size(), 2u);
  EXPECT_EQ(PrintGraph(result->derivation->steps[0].graph),
            "graph g(x: f32[2,3], y: f32[3,4], z: f32[3,5]) {\n"
            "  %0 = matmul(x, y)\n"
            "  %1 = matmul(x, z)\n"
            "  f = concat(%0, %1) {axis = 1}\n"
            "  a, b = split(f) {axis = 1, sizes = [4, 5]}\n"
            "  return a, b\n}\n");
  EXPECT_EQ(ContractOf(deriver, *result->derivation), FloatContract::kBitExact);
}

TEST(DeriveTest, StepsThatAreNoneAreFound) {
  const Deriver deriver(Rules(kColumns));
  auto derived = DeriveRule(deriver, Rules(kMerge)[0]);
  ASSERT_TRUE(derived.ok() && derived->found());
  const Derivation good = *derived->typings[0].result.derivation;
  for (int step : {0, 1}) {
    Derivation bad = good;
    bad.steps[step].rule = 1 - bad.steps[step].rule;
    EXPECT_THAT(std::string(deriver.Check(bad).message()),
                HasSubstr(absl::StrCat("step ", step + 1, " is no application of ")));
    bad = good;
    bad.steps[step].backward = !bad.steps[step].backward;
    EXPECT_FALSE(deriver.Check(bad).ok());
  }
  Derivation bad = good;
  bad.steps.erase(bad.steps.begin());
  EXPECT_FALSE(deriver.Check(bad).ok());
  bad = good;
  bad.steps[0].rule = 7;
  EXPECT_FALSE(deriver.Check(bad).ok());
}

TEST(DeriveTest, OrderOfCommutedOperandsIsNoStep) {
  EXPECT_EQ(Derived(kColumns, Rule("x: [n], y: [n]", "a = add(x, y) b = mul(a, x) return b",
                                   "a = add(y, x) b = mul(x, a) return b")),
            "no step: both sides are one graph");
  EXPECT_THAT(
      Derived(kColumns, Rule("x: [n], y: [n]", "a = sub(x, y) return a", "a = sub(y, x) return a")),
      HasSubstr("not derivable"));
}

TEST(DeriveTest, WhatDoesNotFollowIsNotFound) {
  // x·(y | z) is not x·(z | y).
  EXPECT_THAT(Derived(kColumns, Rule("x: [m,k], y: [k,n], z: [k,n]",
                                     "a = concat(y, z) {axis = 1} b = matmul(x, a) return b",
                                     "a = concat(z, y) {axis = 1} b = matmul(x, a) return b")),
              HasSubstr("not derivable: no further graph can be reached (4 seen"));
}

TEST(DeriveTest, LimitsAreKept) {
  DeriveLimits limits;
  limits.max_steps = 1;
  EXPECT_THAT(Derived(kColumns, kMerge, limits), HasSubstr("chains of up to 1 step were tried"));
  limits = {};
  limits.max_graphs = 2;
  EXPECT_EQ(Derived(kColumns, kMerge, limits),
            "not found within 2 graphs; chains of up to 0 steps were tried");
  limits = {};
  limits.without = {1};
  EXPECT_THAT(Derived(kColumns, kMerge, limits), HasSubstr("not derivable"));
  // A chain through a larger graph.
  limits = {};
  limits.extra_ops = -1;
  EXPECT_THAT(Derived(kColumns, kMerge, limits), HasSubstr("not derivable"));
}

TEST(DeriveTest, GuardsAreKept) {
  const std::string guarded =
      "rule guarded(x: [m,n]) reassociates where n <= 3 { a = exp(x) b = neg(a) return b } => "
      "{ a = neg(x) return a }";
  auto rule = [](const char* guard) {
    return absl::StrCat("rule r(x: [m,n]) reassociates ", guard,
                        " { a = exp(x) b = neg(a) return b } => { a = neg(x) return a }");
  };
  EXPECT_EQ(Derived(guarded, rule("where n <= 2")), "1 step: guarded");
  EXPECT_THAT(Derived(guarded, rule("")), HasSubstr("not derivable"));
}

TEST(DeriveTest, ConstantsAreMatched) {
  const std::string identity = R"(
rule identity(x: [m,n]) reassociates {
  a = constant [n,n] fill 1.0
  b = trilu(a)
  c = trilu(b) {upper = 0}
  d = matmul(x, c)
  return d
} => {
  return x
})";
  EXPECT_EQ(Derived(identity, Rule("x: [m,n], y: [m,n]",
                                   "a = constant [n,n] fill 1.0 b = trilu(a) "
                                   "c = trilu(b) {upper = 0} d = add(x, y) e = matmul(d, c) "
                                   "return e",
                                   "d = add(x, y) return d")),
            "1 step: identity");
  EXPECT_THAT(Derived(identity, Rule("x: [m,n]",
                                     "a = constant [n,n] fill 2.0 b = trilu(a) "
                                     "c = trilu(b) {upper = 0} e = matmul(x, c) return e",
                                     "return x")),
              HasSubstr("not derivable"));
}

TEST(DeriveTest, WhatOneSideLacksIsFoundFromTheOther) {
  // 0·x = 0 gives no x if used backward, but a derivation of 0·x = 0·y uses it nevertheless.
  const std::string zero =
      "rule zero(x: [n]) reassociates { z = constant [n] fill 0.0 a = mul(x, z) return a } => "
      "{ z = constant [n] fill 0.0 return z }";
  const Deriver deriver(Rules(zero));
  EXPECT_TRUE(deriver.CanApply(0, false));
  EXPECT_FALSE(deriver.CanApply(0, true));
  auto graph = [](const char* name) {
    auto parsed =
        ParseGraph(absl::StrCat("graph g(x: f32[2], y: f32[2]) { z = constant f32[2] "
                                "fill 0.0 a = mul(",
                                name, ", z) return a }"));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *parsed;
  };
  auto result = deriver.Derive(graph("x"), graph("y"));
  ASSERT_TRUE(result.ok() && result->derivation);
  EXPECT_EQ(Summary(deriver, *result->derivation), "2 steps: zero, zero backward");
  EXPECT_EQ(deriver.Check(*result->derivation), absl::OkStatus());
}

TEST(DeriveTest, RulesThatAreTheSameButForNames) {
  const std::string sum = "a = add(x, y) b = relu(a) return b", swapped = "a = add(y, x) return a";
  auto same = [](const std::string& a, const std::string& b) {
    return AreTheSame(Rules(a)[0], Rules(b)[0]);
  };
  const std::string one = Rule("x: [n], y: [n]", sum, swapped);
  EXPECT_TRUE(same(one, Rule("y: [k], x: [k]", sum, swapped)));
  EXPECT_TRUE(same(one, Rule("x: [n], y: [n]", "a = add(x, y) return a", sum)));
  // An instance of a rule, and a larger instance.
  EXPECT_FALSE(
      same(one, Rule("x: [n]", "a = add(x, x) b = relu(a) return b", "a = add(x, x) return a")));
  EXPECT_FALSE(same(one, Rule("x: [n], y: [n]", "a = add(x, y) b = relu(a) c = neg(b) return c",
                              "a = add(y, x) b = neg(a) return b")));
}

std::vector<std::string> Kept(absl::string_view text, const PruneOptions& options = {}) {
  const std::vector<Substitution> rules = Rules(text);
  std::vector<std::string> names;
  const Pruned pruned = PruneRules(rules, options);
  for (int i : pruned.kept) names.push_back(rules[i].name);
  EXPECT_EQ(pruned.kept.size() + pruned.left_out.size(), rules.size());
  return names;
}

TEST(PruneTest, WhatOthersGiveIsLeftOut) {
  const std::string all = absl::StrCat(kMerge, kColumns);
  EXPECT_THAT(Kept(all), ElementsAre("columns", "parts"));
  const Pruned pruned = PruneRules(Rules(all));
  ASSERT_EQ(pruned.left_out.size(), 1u);
  EXPECT_EQ(pruned.left_out[0].rule, 0);
  EXPECT_THAT(pruned.left_out[0].from, ElementsAre(2, 1));
  PruneOptions options;
  options.limits.max_steps = 1;
  EXPECT_THAT(Kept(all, options), ElementsAre("merge", "columns", "parts"));
  options = {};
  options.go_on = [](int done) { return done < 0; };
  EXPECT_THAT(Kept(all, options), ElementsAre("merge", "columns", "parts"));
}

// If two rules follow from each other, one stays.
TEST(PruneTest, TwinsAreNotBothLeftOut) {
  std::string twins = kColumns;
  twins += std::string(kColumns).substr(0, std::string(kColumns).find("rule parts"));
  const size_t second = twins.rfind("rule columns");
  twins.replace(second, 12, "rule columns2");
  EXPECT_THAT(Kept(twins), ElementsAre("columns", "parts"));
}

TEST(PruneTest, AStricterContractIsKept) {
  const std::string loose =
      "rule loose(x: [n]) reassociates { a = neg(x) b = neg(a) return b } => { return x }\n";
  const std::string strict =
      "rule strict(x: [n]) bit_exact { a = neg(x) b = neg(a) return b } => { return x }\n";
  EXPECT_THAT(Kept(loose + strict), ElementsAre("strict"));
  EXPECT_THAT(Kept(strict + loose), ElementsAre("strict"));
}

// Found from either side.
TEST(DeriveTest, EveryStarterRuleGivesItself) {
  std::ifstream in("data/rules/starter.txt");
  std::stringstream text;
  text << in.rdbuf();
  const std::vector<Substitution> rules = Rules(text.str());
  ASSERT_GT(rules.size(), 100u);
  DeriveLimits limits;
  limits.max_steps = 1;
  int backward = 0;
  for (const Substitution& rule : rules) {
    const Deriver deriver({rule});
    backward += deriver.CanApply(0, true) ? 1 : 0;
    auto derived = DeriveRule(deriver, rule, limits);
    ASSERT_TRUE(derived.ok()) << derived.status();
    EXPECT_TRUE(derived->found()) << rule.name << " at "
                                  << Describe(rule, derived->typings.back().assignment);
    // The same, starting from its target.
    auto source = Instantiate(rule, rule.source, derived->typings[0].assignment);
    auto target = Instantiate(rule, rule.target, derived->typings[0].assignment);
    ASSERT_TRUE(source.ok() && target.ok());
    auto turned = deriver.Derive(*target, *source, limits);
    ASSERT_TRUE(turned.ok() && turned->derivation) << rule.name;
    EXPECT_EQ(deriver.Check(*turned->derivation), absl::OkStatus()) << rule.name;
  }
  EXPECT_GT(backward, 50);
}

TEST(TypingsTest, SizesAreDistinctWhereTheyMay) {
  for (const Assignment& assignment : DistinctTypings(Rules(kMerge)[0], 3)) {
    std::set<int64_t> sizes;
    for (const auto& value : assignment.symbols) sizes.insert(std::get<IndexExpr>(*value).value());
    EXPECT_EQ(sizes.size(), 4u);
    EXPECT_GT(*sizes.begin(), 1);
  }
  EXPECT_EQ(DistinctTypings(Rules(kMerge)[0], 3).size(), 3u);
  const std::string impossible =
      "rule r(x: [n]) reassociates where n < 0 { a = relu(x) return a } => { return x }";
  EXPECT_TRUE(DistinctTypings(Rules(impossible)[0], 3).empty());
  EXPECT_THAT(Derived(kMerge, impossible), HasSubstr("rule r: no sizes were found"));
}

TEST(TypingsTest, ListsHaveDifferentLengths) {
  std::set<size_t> lengths;
  for (const Assignment& assignment :
       DistinctTypings(Rules(Rule("x: [b..,m]", "a = relu(x) return a", "return x"))[0], 4)) {
    lengths.insert(std::get<Idx>(*assignment.symbols[0]).size());
  }
  EXPECT_GE(lengths.size(), 3u);
}

TEST(TypingsTest, GuardsAndOperatorsHold) {
  // Odd kernels, and groups that divide the channels.
  const Substitution rule = Rules(
      "rule r(x: [n,c * g,h,w], f: [k,c,2 * p + 1,2 * q + 1]) reassociates where p <= 1 {"
      " y = conv2d(x, f) {pads = [p, q, p, q], groups = g} return y } => "
      "{ y = conv2d(x, f) {pads = [p, q, p, q], groups = g} z = relu(y) return z }")[0];
  const std::vector<Assignment> typings = DistinctTypings(rule, 3);
  ASSERT_EQ(typings.size(), 3u);
  for (const Assignment& assignment : typings) {
    EXPECT_TRUE(Instantiate(rule, rule.source, assignment).ok());
    EXPECT_EQ(Evaluate(rule.where[0], assignment.symbols), true);
  }
}

}  // namespace
}  // namespace lemma
