// Matching and applying rules: graph text in, graph text out.
#include <random>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMerge[] = R"(
rule merge(x: [m,k], a: [k,n1], b: [k,n2]) reassociates {
  p = matmul(x, a)
  q = matmul(x, b)
  return p, q
} => {
  w = concat(a, b) {axis = 1}
  y = matmul(x, w)
  p, q = split(y) {axis = 1, sizes = [n1, n2]}
  return p, q
})";

// All results of applying the rules once, in order, as text.
std::vector<std::string> Results(absl::string_view rules, absl::string_view text) {
  auto parsed = ParseRules(rules);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto set = RuleSet::Create(*std::move(parsed));
  EXPECT_TRUE(set.ok()) << set.status();
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  MatchIndex index(*graph);
  std::vector<std::string> results;
  (*set)->ForEach(index, [&](const Rewrite& rewrite) {
    auto result = rewrite.Apply();
    results.push_back(result.ok() ? PrintGraph(*result) : std::string(result.status().message()));
    return true;
  });
  return results;
}

TEST(Rewrite, MergesSiblingsOnce) {
  EXPECT_THAT(Results(kMerge, R"(graph two_heads(x: f32[8,64], wq: f32[64,32], wk: f32[64,16]) {
  q = matmul(x, wq)
  k = matmul(x, wk)
  r = relu(k)
  return q, r
})"),
              ElementsAre(R"(graph two_heads(x: f32[8,64], wq: f32[64,32], wk: f32[64,16]) {
  %0 = concat(wq, wk) {axis = 1}
  %1 = matmul(x, %0)
  q, k = split(%1) {axis = 1, sizes = [32, 16]}
  r = relu(k)
  return q, r
}
)"));
}

TEST(Rewrite, DoesNotReplaceWhatAVariableNeeds) {
  // The second product's right side comes from the first.
  EXPECT_THAT(Results(kMerge, R"(graph g(x: f32[4,4], w: f32[4,4]) {
  p = matmul(x, w)
  q = matmul(x, p)
  return q
})"),
              ElementsAre());
}

TEST(Rewrite, KeepsInnerValuesThatAreUsedElsewhere) {
  constexpr char kRule[] = R"(rule fuse(x: [s..]) bit_exact {
  y = neg(x)
  z = neg(y)
  return z
} => {
  return x
})";
  EXPECT_THAT(Results(kRule, R"(graph g(x: f32[2]) {
  y = neg(x)
  z = neg(y)
  w = relu(z)
  return w, y
})"),
              ElementsAre(R"(graph g(x: f32[2]) {
  w = relu(x)
  y = neg(x)
  return w, y
}
)"));
}

TEST(Rewrite, TriesCommutativeOperandsBothWays) {
  constexpr char kRule[] = R"(rule r(x: [s..], y: [s..]) bit_exact {
  n = neg(y)
  z = add(x, n)
  return z
} => {
  z = sub(x, y)
  return z
})";
  EXPECT_THAT(Results(kRule, "graph g(a: f32[2], b: f32[2]) { n = neg(a) z = add(n, b) return z }"),
              ElementsAre(HasSubstr("z = sub(b, a)")));
  EXPECT_EQ(Results(kRule, R"(graph g(a: f32[2], b: f32[2]) {
    n = neg(a) m = neg(b) z = add(n, m) return z })")
                .size(),
            2u);
}

TEST(Rewrite, ChecksRolesConstantsAndGuards) {
  constexpr char kRule[] = R"(rule r(x: [m,n], w: weight [n]) reassociates where n mod 4 = 0 {
  two = constant [] fill 2
  y = mul(x, two)
  z = mul(y, w)
  return z
} => {
  v = mul(w, two)
  two = constant [] fill 2
  z = mul(x, v)
  return z
})";
  EXPECT_THAT(ParseRules(kRule).status().message(), HasSubstr("no value two above"));
  constexpr char kGood[] = R"(rule r(x: [m,n], w: weight [n]) reassociates where n mod 4 = 0 {
  two = constant [] fill 2
  y = mul(x, two)
  z = mul(y, w)
  return z
} => {
  two = constant [] fill 2
  v = mul(w, two)
  z = mul(x, v)
  return z
})";
  auto matches = [&](absl::string_view params, absl::string_view value) {
    return Results(kGood, absl::StrCat("graph g(", params, ") { c = constant f32[] fill ", value,
                                       " y = mul(x, c) z = mul(y, w) return z }"))
        .size();
  };
  EXPECT_EQ(matches("x: f32[3,4], w: weight f32[4]", "2.0"), 1u);
  EXPECT_EQ(matches("x: f32[3,4], w: weight f32[4]", "2.5"), 0u);  // another constant
  EXPECT_EQ(matches("x: f32[3,4], w: f32[4]", "2.0"), 0u);         // no weight
  EXPECT_EQ(matches("x: f32[3,6], w: weight f32[6]", "2.0"), 0u);  // 6 mod 4 = 2
  EXPECT_EQ(matches("x: f32[4], w: weight f32[4]", "2.0"), 0u);    // no matrix
}

TEST(Rewrite, SolvesSymbolsFromListsAndArithmetic) {
  constexpr char kRule[] = R"(rule r(x: [o..,2*m,i..]) bit_exact {
  p, q = split(x) {axis = len(o), sizes = [m, m]}
  y = concat(p, q) {axis = len(o)}
  return y
} => {
  return x
})";
  EXPECT_EQ(Results(kRule, R"(graph g(x: f32[3,6,5]) {
    a, b = split(x) {axis = 1, sizes = [3, 3]} y = concat(a, b) {axis = 1} return y })")
                .size(),
            1u);
  EXPECT_EQ(Results(kRule, R"(graph g(x: f32[3,6,5]) {
    a, b = split(x) {axis = 1, sizes = [2, 4]} y = concat(a, b) {axis = 1} return y })")
                .size(),
            0u);
}

TEST(Rewrite, RefusesATargetOfAnotherType) {
  constexpr char kRule[] = R"(rule r(x: [s..]) bit_exact {
  y = transpose(x) {perm = p}
  return y
} => {
  return x
})";
  EXPECT_THAT(Results(kRule, "graph g(x: f32[2,3]) {y = transpose(x) {perm = [1,0]} return y}"),
              ElementsAre("rule r: a value of type f32[3,2] would become f32[2,3]"));
}

TEST(Rewrite, LeavesEmptyOperandsAlone) {
  EXPECT_THAT(Results(kMerge, R"(graph g(x: f32[8,64], wq: f32[64,32], wk: f32[64,0]) {
  q = matmul(x, wq)
  k = matmul(x, wk)
  return q, k
})"),
              ElementsAre(HasSubstr("not proved for an empty operand")));
}

TEST(Rewrite, FindsTheSameInTheSameOrder) {
  constexpr char kText[] = R"(graph g(x: f32[4,4], a: f32[4,4], b: f32[4,4], c: f32[4,4]) {
  p = matmul(x, a)
  q = matmul(x, b)
  r = matmul(x, c)
  return p, q, r
})";
  std::vector<std::string> first = Results(kMerge, kText);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(Results(kMerge, kText), first);
}

TEST(RuleText, ErrorsPointAtTheirCause) {
  const std::pair<const char*, const char*> cases[] = {
      {"rule r(x: [s..]) fast { y = relu(x) return y } => { return x }",
       "text:1:18: the float contract must be bit_exact, reassociates, real_only or bounded, not "
       "fast"},
      {"rule r(x: [s..]) bit_exact { y = rellu(x) return y } => { return x }",
       "did you mean relu?"},
      {"rule r(x: [s..]) bit_exact { return x } => { return x }",
       "the source must return an operator's output"},
      {"rule r(x: [s..]) bit_exact { y = relu(x) return y } => { return x, x }",
       "the source returns 1 values, the target 2"},
      {"rule r(x: [s..]) bit_exact { y = relu(x) return y } => "
       "{ z = reshape(x) {shape = t} return z }",
       "the symbol t occurs in the target only"},
      {"rule r(x: [s..], y: [s..]) bit_exact { z = relu(x) return z } => { return y }",
       "the source does not use this variable"},
      {"rule r(x: [s..]) bit_exact { y = relu(x) z = neg(x) return y } => { return x }",
       "text:1:42: nothing uses this value"},
      {"rule r(x: [s..], y: [s]) bit_exact { z = add(x, y) return z } => { return x }",
       "s is a list elsewhere, here an integer"},
      {"rule r(x: [f(n)]) bit_exact { y = relu(x) return y } => { return x }", "no function f"},
      {"rule r(x: [n]) bit_exact { y = concat(x) return y } => { return x }",
       "concat needs the attribute axis"},
      {"rule r(x: [n]) bit_exact { y = relu(x, x) return y } => { return x }",
       "relu does not take 2 operands"},
      {"rule r(x: [n]) bit_exact { y = relu(x) return y } { return x }", "expected '=>'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ParseRules(text).status().message(), HasSubstr(message)) << text;
  }
  constexpr char kApart[] = R"(rule r(x: [n], y: [n]) bit_exact {
    a = relu(x) b = relu(y) return a, b } => { return x, y })";
  EXPECT_THAT(RuleSet::Create(*ParseRules(kApart)).status().message(), HasSubstr("share no value"));
}

// Flipped, removed and repeated bytes give an error or a rule, never a crash.
TEST(RuleText, SurvivesDamage) {
  constexpr absl::string_view kTexts[] = {kMerge, R"(# doc
rule r(x: weight [o..,2*m,i..], y: constant i64[n div 2]) real_only where n mod 2 = 0, m >= 1 {
  c = constant [t..] fill e * 2.0
  p, _ = split(x) {axis = len(o), sizes = [m, min(m, n)]}
  q = transpose(p) {perm = compose(a, inverse(b))}
  z = gather(q, y)
  w = mul(z, c)
  return w
} => {
  z = slice(x) {starts = repeat(0, len(o)), sizes = [o.., permute(i, a)..]}
  return z
} proved reassociates "a1\\x00" "all \\"sizes\\"" # the end)"};
  std::mt19937_64 random(20261120);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(kTexts[random() % 2]);
    for (int damage = random() % 4; damage > 0; --damage) {
      size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
          break;
      }
    }
    auto rules = ParseRules(text);
    if (!rules.ok()) continue;
    for (const Substitution& rule : *rules) {
      ++parsed;
      std::string printed = PrintRule(rule);
      auto again = ParseRules(printed);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
      EXPECT_EQ(PrintRule(again->at(0)), printed);
      ProofRecord record = rule.proof;
      record.verdict = ProofRecord::Verdict::kUnknown;
      record.detail += "\n#}";
      record.contract = FloatContract::kRealOnly;
      auto recorded = WithRecords(text, "text", {{rule.name, record}});
      ASSERT_TRUE(recorded.ok()) << recorded.status() << "\n" << text;
      auto reread = ParseRules(*recorded);
      ASSERT_TRUE(reread.ok()) << reread.status() << "\n" << *recorded;
      ASSERT_EQ(reread->size(), rules->size());
      for (size_t i = 0; i < rules->size(); ++i) {
        const Substitution& old = (*rules)[i];
        EXPECT_EQ((*reread)[i].proof, old.name == rule.name ? record : old.proof) << *recorded;
      }
      Matcher::Create(rule).status().IgnoreError();
    }
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace lemma
