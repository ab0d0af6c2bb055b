// The shipped generated rules: each has a current proof, the matcher can search for it, and it
// holds on random instances in the field.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

struct Shipped {
  const char* name;
  size_t least;  // rules in it
};

class GeneratedRulesTest : public testing::TestWithParam<Shipped> {
 protected:
  static std::vector<Substitution> Rules() {
    const std::string path = absl::StrCat("data/rules/", GetParam().name, ".txt");
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto rules = ParseRules(text.str(), path);
    EXPECT_TRUE(rules.ok()) << rules.status();
    return rules.ok() ? *std::move(rules) : std::vector<Substitution>();
  }
};

TEST_P(GeneratedRulesTest, AreProvedAndUsable) {
  const std::vector<Substitution> rules = Rules();
  EXPECT_GE(rules.size(), GetParam().least);
  for (const Substitution& rule : rules) EXPECT_EQ(ProofProblem(rule), "") << rule.name;
  const auto set = RuleSet::Create(rules);
  EXPECT_TRUE(set.ok()) << set.status();
}

TEST_P(GeneratedRulesTest, HoldInTheField) {
  size_t not_in_field = 0;
  for (const Substitution& rule : Rules()) {
    RandomizedCheckOptions options;
    options.instances = 5;
    auto tested = RandomizedCheck(rule, options);
    ASSERT_TRUE(tested.ok()) << rule.name << ": " << tested.status();
    if (!tested->counterexample) {
      EXPECT_GT(tested->instances, 0) << rule.name;
      continue;
    }
    // Rules by exp(a + b) = exp(a) * exp(b), and by laws that join order and arithmetic, are proved
    // but do not hold in the field.
    const std::string text = PrintRule(rule);
    const bool in_field = text.find("softmax(") == text.npos &&
                          text.find("reduce_max(") == text.npos && text.find("relu(") == text.npos;
    EXPECT_FALSE(in_field) << rule.name << ": " << *tested->counterexample;
    ++not_in_field;
  }
  EXPECT_LT(5 * not_in_field, Rules().size());
}

void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.name; }

INSTANTIATE_TEST_SUITE_P(All, GeneratedRulesTest,
                         testing::Values(Shipped{"generated_inference", 100}, Shipped{"taso", 150},
                                         Shipped{"taso_2d", 100}, Shipped{"taso_4", 800},
                                         Shipped{"taso_plus", 10}, Shipped{"training", 50},
                                         Shipped{"training_2d", 100}, Shipped{"transformer", 300}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lemma
