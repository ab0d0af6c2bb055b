// Rules that people know are among the generated ones or follow from them.
//
// completeness_test RULES...: the generated rules, as files.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/derive.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

constexpr char kKnownRules[] = "tests/generator/known_rules.txt";
constexpr int kNumKnown = 105;
std::vector<std::string> databases;

std::vector<Substitution> Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto rules = ParseRules(text.str(), path);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *rules : std::vector<Substitution>();
}

const std::vector<Substitution>& Known() {
  static const auto* rules = new std::vector<Substitution>(Read(kKnownRules));
  return *rules;
}

// Over the rules of the database that are proved.
const Deriver& Database() {
  static const Deriver* deriver = [] {
    std::vector<Substitution> usable;
    for (size_t i = 0; i < databases.size(); ++i) {
      for (Substitution& rule : Read(databases[i])) {
        const std::string problem = ProofProblem(rule);
        EXPECT_EQ(problem, "") << databases[i] << ": " << rule.name;
        rule.name = absl::StrCat(rule.name, "_of_", i);  // files count from 1 each
        if (problem.empty()) usable.push_back(std::move(rule));
      }
    }
    return new Deriver(std::move(usable));
  }();
  return *deriver;
}

TEST(KnownRulesTest, AreAllTried) {
  EXPECT_EQ(Known().size(), kNumKnown);
  EXPECT_GE(Known().size(), 60);
}

class KnownRuleTest : public testing::TestWithParam<int> {};

TEST_P(KnownRuleTest, FollowsFromTheDatabase) {
  ASSERT_LT(GetParam(), static_cast<int>(Known().size()));
  const Substitution& rule = Known()[GetParam()];
  EXPECT_EQ(ProofProblem(rule), "") << rule.name << ": a known rule has to be true";
  const Deriver& deriver = Database();
  // Rules that follow from others were left out, so chains are longer than users ask for.
  DeriveLimits limits;
  limits.max_steps = 10;
  limits.max_graphs = 50000;
  auto derived = DeriveRule(deriver, rule, limits);
  ASSERT_TRUE(derived.ok()) << derived.status();
  const RuleDerivation::AtTyping& last = derived->typings.back();
  ASSERT_TRUE(derived->found()) << rule.name << ": " << NotFound(last.result);
  for (const RuleDerivation::AtTyping& typing : derived->typings) {
    EXPECT_EQ(deriver.Check(*typing.result.derivation), absl::OkStatus());
  }
  // If the database has the rule itself, names it; otherwise lists the steps at the first typing.
  const Derivation& first = *derived->typings[0].result.derivation;
  const bool is_there =
      first.steps.size() == 1 && AreTheSame(rule, deriver.rules()[first.steps[0].rule]);
  std::printf("%s: %s%s, at %zu typings\n", rule.name.c_str(),
              is_there ? "in the database: " : "derived in ", Summary(deriver, first).c_str(),
              derived->typings.size());
  RecordProperty("steps", static_cast<int>(first.steps.size()));
}

INSTANTIATE_TEST_SUITE_P(All, KnownRuleTest, testing::Range(0, kNumKnown),
                         [](const testing::TestParamInfo<int>& info) {
                           const size_t i = static_cast<size_t>(info.param);
                           return i < Known().size() ? Known()[i].name : std::to_string(i);
                         });

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "completeness_test RULES...: which files of generated rules?\n");
    return 2;
  }
  lemma::databases.assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
