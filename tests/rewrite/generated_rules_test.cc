// The generated rules that are shipped: each has a proof of what it says now, can be looked for,
// and holds on random instances in the field.
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "rewrite/field_test.h"
#include "rewrite/proof_check.h"
#include "rewrite/rewrite_source.h"
#include "rewrite/rule_text.h"

namespace lemma {
namespace {

constexpr char kPath[] = "data/rules/generated_inference.txt";

std::vector<Substitution> Rules() {
  std::ifstream in(kPath, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto rules = ParseRules(text.str(), kPath);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : std::vector<Substitution>();
}

TEST(GeneratedRulesTest, AreProvedAndUsable) {
  const std::vector<Substitution> rules = Rules();
  EXPECT_GE(rules.size(), 100u);
  for (const Substitution& rule : rules) EXPECT_EQ(ProofProblem(rule), "") << rule.name;
  const auto set = RuleSet::Create(rules);
  EXPECT_TRUE(set.ok()) << set.status();
}

TEST(GeneratedRulesTest, HoldInTheField) {
  for (const Substitution& rule : Rules()) {
    FieldTestOptions options;
    options.instances = 5;
    auto tested = FieldTest(rule, options);
    ASSERT_TRUE(tested.ok()) << rule.name << ": " << tested.status();
    EXPECT_FALSE(tested->counterexample) << rule.name << ": " << *tested->counterexample;
    EXPECT_GT(tested->instances, 0) << rule.name;
  }
}

}  // namespace
}  // namespace lemma
