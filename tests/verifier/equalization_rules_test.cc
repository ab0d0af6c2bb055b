// The identities behind `lemma quantize --equalize` and `--smooth` are proved, and their records
// are those of the file. Their neighbors in equalization_misses.txt are refuted.
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

constexpr char kRules[] = "data/rules/equalization.txt";
constexpr char kMisses[] = "tests/verifier/equalization_misses.txt";

TEST(EqualizationRules, AreProved) {
  const std::vector<Substitution> rules = RulesIn(kRules);
  EXPECT_GE(rules.size(), size_t{16});
  for (const Substitution& rule : rules) {
    const Verdict verdict = ProveRule(rule);
    const auto* proved = std::get_if<Proved>(&verdict);
    ASSERT_TRUE(proved != nullptr) << rule.name << ": " << ToString(verdict);
    EXPECT_LE(proved->contract, rule.contract) << rule.name;
    EXPECT_EQ(ProofProblem(rule), "")
        << rule.name << ": run lemma verify " << kRules << " -o " << kRules;
  }
}

TEST(EqualizationMisses, AreRefuted) {
  const std::vector<Substitution> rules = RulesIn(kMisses);
  EXPECT_GE(rules.size(), size_t{12});
  ProverOptions unaided;
  unaided.samples = 0;
  for (const Substitution& rule : rules) {
    const Verdict verdict = ProveRule(rule);
    EXPECT_TRUE(std::holds_alternative<Refuted>(verdict)) << rule.name << ToString(verdict);
    // The proof alone does not believe them either.
    EXPECT_FALSE(IsProved(ProveRule(rule, unaided))) << rule.name;
  }
}

}  // namespace
}  // namespace lemma
