// Rules in tests of the prover.
#ifndef LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

// Parses text that is known to be right; fails the test otherwise.
std::vector<Substitution> Rules(const std::string& text);
// The rules of a file, by its path from the root of the project.
std::vector<Substitution> RulesIn(const std::string& path);
Verdict ProveText(const std::string& rule, const ProverOptions& options = {});
// The claim read from right to left.
Substitution Reversed(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
