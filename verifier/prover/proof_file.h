// Proofs as text files, for others to repeat: a second solver (the obligations) and the small
// checker (the steps). The format is in docs/proofs.md.
#ifndef LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
#define LEMMA_VERIFIER_PROVER_PROOF_FILE_H_

#include <string>
#include <vector>

#include "rewrite/rules/statement.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

// Lines of a log that say which values of the rule's symbols the lines after them are about.
std::vector<std::string> FormLines(const Substitution& rule, const RuleForm& form);

// `proved` must come from ProveRule(rule) with ProverOptions::keep_obligations.
std::string WriteProofFile(const Substitution& rule, const Proved& proved);
// All obligations as one SMT-LIB 2 script: a solver prints "unsat" for each.
std::string ObligationScript(const std::string& title, const ProofLog& log);

// A rule's name for files: what is neither a letter, a digit, _, - nor . becomes % and two hex
// digits.
std::string FileNameOf(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
