// The small checker accepts the proof of every starter rule and of every identity.
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/proof_file.h"

namespace lemma::checker {
namespace {

class ReplayAll : public testing::TestWithParam<const char*> {};

TEST_P(ReplayAll, IsAccepted) {
  int64_t proofs = 0, steps = 0, checks = 0;
  for (Substitution& rule : RulesIn(GetParam())) {
    rule.proof = {};  // whether it is of these definitions is asked elsewhere
    ProverOptions options;
    options.keep_obligations = true;
    const Verdict verdict = ProveRule(rule, options);
    ASSERT_TRUE(IsProved(verdict)) << rule.name << ": " << ToString(verdict);
    const Replayed replayed = ReplayProof(WriteProofFile(rule, std::get<Proved>(verdict)), rule);
    EXPECT_TRUE(replayed.accepted) << rule.name << ": " << replayed.problem;
    EXPECT_EQ(replayed.unreached, 0) << rule.name;
    EXPECT_LT(replayed.undecided, 20) << rule.name;  // maxima of nothing
    ++proofs;
    steps += replayed.steps;
    checks += replayed.checks;
  }
  printf("%ld proofs, %ld steps, %ld checks\n", long{proofs}, long{steps}, long{checks});
}

INSTANTIATE_TEST_SUITE_P(Rules, ReplayAll,
                         testing::Values("data/rules/starter.txt",
                                         "tests/verifier/identities.txt"));

}  // namespace
}  // namespace lemma::checker
