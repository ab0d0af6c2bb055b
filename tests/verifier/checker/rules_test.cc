// The checker on every rule of the starter database, and on claims that are false.
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include "gtest/gtest.h"
#include "rewrite/rule_text.h"
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

// Claims that are false, and claims that lost the condition under which they are true.
TEST(Checker, FindsEveryTrapFalse) {
  for (const char* path : {"tests/verifier/traps.txt", "tests/verifier/unguarded.txt"}) {
    int total = 0;
    for (const Substitution& rule : RulesOf(path)) {
      ++total;
      const Checked checked = Check(rule);
      EXPECT_EQ(checked.answer, Answer::kDiffers) << rule.name << ": " << checked.coverage;
    }
    EXPECT_GT(total, 20) << path;
  }
}

}  // namespace
}  // namespace lemma::checker
