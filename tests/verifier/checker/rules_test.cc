// The checker on every rule of the starter database, and on claims that are false.
#include <chrono>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/starter_mutants.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/checker/checker.h"

namespace lemma::checker {
namespace {

using Answer = Checked::Answer;

std::vector<Substitution> RulesOf(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  auto rules = ParseRules(text.str(), path);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : std::vector<Substitution>();
}

Checked Check(const Substitution& rule) {
  const auto start = std::chrono::steady_clock::now();
  Checked checked = CheckRule(rule);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  static const char* kNames[] = {"equal", "DIFFERS", "undecided"};
  printf("%-36s %5.2f s  %-9s %s  %s\n", rule.name.c_str(), took.count(),
         kNames[static_cast<int>(checked.answer)], checked.coverage.c_str(),
         checked.detail.substr(0, 300).c_str());
  fflush(stdout);
  return checked;
}

TEST(Checker, FindsNoStarterRuleFalse) {
  int undecided = 0;
  for (const Substitution& rule : RulesOf("data/rules/starter.txt")) {
    const Checked checked = Check(rule);
    EXPECT_NE(checked.answer, Answer::kDiffers) << rule.name << ": " << checked.detail;
    EXPECT_GT(checked.equal, 0) << rule.name;
    undecided += checked.answer == Answer::kUndecided;
  }
  EXPECT_EQ(undecided, 0);
}

TEST(Checker, FindsNoIdentityFalse) {
  int undecided = 0;
  for (const Substitution& rule : RulesOf("tests/verifier/identities.txt")) {
    const Checked checked = Check(rule);
    EXPECT_NE(checked.answer, Answer::kDiffers) << rule.name << ": " << checked.detail;
    EXPECT_GT(checked.equal, 0) << rule.name;
    undecided += checked.answer == Answer::kUndecided;
  }
  EXPECT_EQ(undecided, 0);
}

// Each is checked in both directions.
TEST(Checker, FindsEveryTrapFalse) {
  int total = 0;
  for (const char* family :
       {"traps", "traps/broadcast", "traps/conv", "traps/data", "traps/elementwise", "traps/layout",
        "traps/matmul", "traps/norms", "traps/pooling", "traps/reductions"}) {
    for (const Substitution& rule : RulesOf(absl::StrCat("tests/verifier/", family, ".txt"))) {
      for (const Substitution& claim : {rule, Reversed(rule)}) {
        const Checked checked = Check(claim);
        EXPECT_EQ(checked.answer, Answer::kDiffers)
            << rule.name << ": " << checked.coverage << " " << checked.detail;
        ++total;
      }
    }
  }
  EXPECT_GT(total, 600);
}

// Claims without the condition under which they are true.
TEST(Checker, FindsUnguardedRulesFalse) {
  for (const Substitution& rule : RulesOf("tests/verifier/unguarded.txt")) {
    const Checked checked = Check(rule);
    EXPECT_EQ(checked.answer, Answer::kDiffers) << rule.name << ": " << checked.coverage;
  }
}

TEST(Checker, FindsFalseNeighborsOfStarterRulesFalse) {
  const std::vector<Mutation> mutations = StarterMutations();
  for (const Substitution& rule : RulesOf("data/rules/starter.txt")) {
    Substitution claim = rule;
    claim.proof = {};
    for (const Mutation& mutation : mutations) {
      if (mutation.rule != rule.name) continue;
      auto mutant = ParseRules(Mutate(claim, mutation));
      ASSERT_TRUE(mutant.ok()) << mutant.status();
      const Checked checked = Check(mutant->front());
      EXPECT_EQ(checked.answer, Answer::kDiffers)
          << rule.name << ": " << checked.coverage << " " << checked.detail;
    }
  }
}

}  // namespace
}  // namespace lemma::checker
