// Reads and proves rules in tests of the prover.
#ifndef LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
#define LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

// The rules of a text. If the text is not valid, the test fails.
std::vector<Substitution> Rules(const std::string& text);
// The same for a file, given by its path from the project's root.
std::vector<Substitution> RulesIn(const std::string& path);
// Proves the only rule of a text and returns the verdict; unknown if the text is not one rule.
Verdict ProveText(const std::string& rule, const ProverOptions& options = {});
// The rule with source and target exchanged.
Substitution Reversed(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_PROVER_TESTUTIL_H_
