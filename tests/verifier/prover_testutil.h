// Rules in tests of the prover.
#ifndef LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_

#include <string>
#include <vector>

#include "rewrite/substitution.h"
#include "verifier/prover.h"

namespace lemma {

// Parses text that is known to be right; fails the test otherwise.
std::vector<Substitution> Rules(const std::string& text);
Verdict ProveText(const std::string& rule, const ProverOptions& options = {});
// The claim read from right to left; nullopt where the target does not bind all symbols.
Substitution Reversed(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
