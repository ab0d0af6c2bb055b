#include "tests/verifier/prover_testutil.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {

std::vector<Substitution> Rules(const std::string& text) {
  auto rules = ParseRules(text, "text", RuleKinds::kAll);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : std::vector<Substitution>();
}

std::vector<Substitution> RulesIn(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return Rules(text.str());
}

Verdict ProveText(const std::string& rule, const ProverOptions& options) {
  std::vector<Substitution> rules = Rules(rule);
  if (rules.size() != 1) return Unknown{"the text is not one rule"};
  return ProveRule(rules[0], options);
}

Substitution Reversed(const Substitution& rule) {
  Substitution reversed = rule;
  std::swap(reversed.source, reversed.target);
  return reversed;
}

}  // namespace lemma
