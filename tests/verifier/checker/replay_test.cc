// Proof files are accepted as they are written, and no other way.
#include <chrono>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "rewrite/rule_text.h"
#include "verifier/checker/checker.h"
#include "verifier/proof_file.h"
#include "verifier/prover.h"

namespace lemma::checker {
namespace {

std::string ProofOf(const Substitution& rule) {
  ProverOptions options;
  options.keep_obligations = true;
  const Verdict verdict = ProveRule(rule, options);
  EXPECT_TRUE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
  return IsProved(verdict) ? WriteProofFile(rule, std::get<Proved>(verdict)) : "";
}

TEST(Replay, AcceptsTheProofsOfTheStarterRules) {
  std::ifstream file("data/rules/starter.txt");
  std::stringstream text;
  text << file.rdbuf();
  auto rules = ParseRules(text.str(), "starter.txt");
  ASSERT_TRUE(rules.ok()) << rules.status();
  for (Substitution& rule : *rules) {
    rule.proof = {};
    const std::string proof = ProofOf(rule);
    if (proof.empty()) continue;
    const auto start = std::chrono::steady_clock::now();
    const Replayed replayed = ReplayProof(proof, rule);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(replayed.accepted) << rule.name << ": " << replayed.problem;
    printf("%-36s %5.2f s %6zu kB %5ld steps %6ld checks %4ld undecided %3ld unreached\n",
           rule.name.c_str(), took.count(), proof.size() / 1024, long{replayed.steps},
           long{replayed.checks}, long{replayed.undecided}, long{replayed.unreached});
    fflush(stdout);
  }
}

}  // namespace
}  // namespace lemma::checker
