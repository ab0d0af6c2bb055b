#include "tests/verifier/campaign/mutator.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/verifier/campaign/operator_claims.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

constexpr char kClaims[] = "tests/verifier/campaign/claims.txt";

TEST(Mutator, MutantsAreDistinctAndReadBack) {
  Mutator mutator({RulesIn(kClaims)}, 1);
  std::set<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    const RuleMutant mutant = mutator.Draw();
    EXPECT_TRUE(texts.insert(mutant.text).second) << mutant.text;
    EXPECT_EQ(PrintRule(mutant.rule), mutant.text);
    EXPECT_NE(mutant.what.find("; "), std::string::npos) << mutant.what;
  }
}

TEST(Mutator, EqualSeedsGiveEqualMutants) {
  Mutator a({RulesIn(kClaims)}, 5), b({RulesIn(kClaims)}, 5), c({RulesIn(kClaims)}, 6);
  int others = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string text = a.Draw().text;
    EXPECT_EQ(text, b.Draw().text);
    others += text != c.Draw().text;
  }
  EXPECT_GT(others, 40);
}

// Each kind of change is among them.
TEST(Mutator, ChangesEverything) {
  Mutator mutator({RulesIn(kClaims), RulesIn("data/rules/starter.txt")}, 3);
  std::set<std::string> missing = {
      "operands exchanged", "another operand",      "left out",         "done twice",
      "put between",        "outputs exchanged",    "another output",   "another constant",
      "another type of",    "another role of",      "other dimensions", "another guard",
      "behind both sides",  "in front of",          "reversed",         "both sides its source",
      "max became min",     "floor became ceil",    "another perm",     "another axis",
      "count_include_pad",  "both sides its target"};
  for (int i = 0; i < 5000 && !missing.empty(); ++i) {
    const std::string what = mutator.Draw().what;
    for (auto it = missing.begin(); it != missing.end();) {
      it = what.find(*it) == std::string::npos ? std::next(it) : missing.erase(it);
    }
  }
  for (const std::string& what : missing) ADD_FAILURE() << what;
}

TEST(OperatorClaims, CoverTheOperators) {
  std::set<std::string> operators;
  for (const Substitution& claim : OperatorClaims()) {
    ASSERT_EQ(claim.source.nodes.size(), 1u);
    operators.insert(claim.source.nodes[0].op->name);
  }
  EXPECT_GE(operators.size(), 100u);
}

}  // namespace
}  // namespace lemma
