#include "verifier/preconditions/precondition.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string TextOf(const std::vector<Comparison>& found) {
  std::vector<std::string> conjuncts;
  for (const Comparison& c : found) {
    conjuncts.push_back(
        absl::StrCat(c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString()));
  }
  return conjuncts.empty() ? "none" : absl::StrJoin(conjuncts, ", ");
}

class UnguardedTest : public testing::TestWithParam<Substitution> {};

// The guard in the rule's comment is found, proved with all its conjuncts and with no fewer.
TEST_P(UnguardedTest, FindsTheGuard) {
  const Substitution& rule = GetParam();
  const std::vector<std::string> doc = absl::StrSplit(rule.doc, "guard: ");
  ASSERT_EQ(doc.size(), 2u);
  const Precondition found = SynthesizePrecondition(rule);
  EXPECT_TRUE(IsRefuted(found.without)) << ToString(found.without);
  EXPECT_EQ(TextOf(found.found), doc[1]) << found.reason;
  if (doc[1] == "none") {
    EXPECT_FALSE(found.proved());
    EXPECT_FALSE(found.reason.empty());
    return;
  }
  ASSERT_TRUE(found.with) << found.reason;
  EXPECT_TRUE(IsProved(*found.with)) << ToString(*found.with);
  EXPECT_TRUE(IsProved(ProveRule(found.rule)));
  for (size_t i = 0; i < found.found.size(); ++i) {
    Substitution fewer = found.rule;
    fewer.where.erase(fewer.where.end() - 1 - static_cast<int>(i));
    EXPECT_FALSE(IsProved(ProveRule(fewer))) << PrintRule(fewer);
  }
  auto again = ParseRules(PrintRule(found.rule));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintRule((*again)[0]), PrintRule(found.rule));
  // The randomized check, which is other code, finds no counterexample either.
  Substitution checked = found.rule;
  checked.contract = std::get<Proved>(*found.with).contract;
  auto tested = RandomizedCheck(checked, {40, 7});
  ASSERT_TRUE(tested.ok()) << tested.status();
  EXPECT_FALSE(tested->counterexample) << *tested->counterexample;
}

INSTANTIATE_TEST_SUITE_P(Rules, UnguardedTest,
                         testing::ValuesIn(Rules(ReadFile("tests/verifier/unguarded.txt"))),
                         [](const auto& info) { return info.param.name; });

TEST(PreconditionTest, LeavesATrueRuleAlone) {
  const Substitution rule = Rules(R"(
    rule relu_twice(x: [n]) bit_exact { a = relu(x) b = relu(a) return b } => {
      c = relu(x) return c })")[0];
  const Precondition found = SynthesizePrecondition(rule);
  EXPECT_TRUE(IsProved(found.without));
  EXPECT_FALSE(found.with);
  EXPECT_TRUE(found.proved());
  EXPECT_EQ(PrintRule(found.rule), PrintRule(rule));
}

TEST(PreconditionTest, KeepsTheConditionThatIsThere) {
  const Substitution rule = Rules(R"(
    rule outputs(x: [n,g*c,h,w], f: [k1,c,1,1], e: [k2,c,1,1]) bit_exact where n >= 2 {
      p = conv2d(x, f) {groups = g}
      q = conv2d(x, e) {groups = g}
      z = concat(p, q) {axis = 1}
      return z
    } => {
      fe = concat(f, e) {axis = 0}
      z = conv2d(x, fe) {groups = g}
      return z
    })")[0];
  const Precondition found = SynthesizePrecondition(rule);
  EXPECT_EQ(TextOf(found.rule.where), "n >= 2, g = 1");
  EXPECT_EQ(TextOf(found.found), "g = 1");
}

TEST(PreconditionTest, IsTheSameEveryTime) {
  const std::vector<Substitution> rules = Rules(ReadFile("tests/verifier/unguarded.txt"));
  const std::string first = PrintRule(SynthesizePrecondition(rules[3]).rule);
  EXPECT_EQ(PrintRule(SynthesizePrecondition(rules[3]).rule), first);
}

}  // namespace
}  // namespace lemma
