// Writes proofs as text files, for others to repeat: a second solver repeats the obligations, and
// the small checker the steps. docs/proofs.md describes the format.
#ifndef LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
#define LEMMA_VERIFIER_PROVER_PROOF_FILE_H_

#include <string>
#include <vector>

#include "rewrite/rules/statement.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

// Lines of a proof file that give the values of the rule's symbols in `form`. The lines after them
// are about this form.
std::vector<std::string> FormLines(const Substitution& rule, const RuleForm& form);

// The proof file of a rule. `proved` must come from ProveRule(rule) with
// ProverOptions::keep_obligations.
std::string WriteProofFile(const Substitution& rule, const Proved& proved);
// All obligations as one SMT-LIB 2 script: a solver prints "unsat" for each.
std::string ObligationScript(const std::string& title, const ProofLog& log);

// A rule's name for files: a character that is neither a letter, a digit, _, - nor . becomes % and
// two hexadecimal digits, and so does a dot at the beginning.
std::string FileNameOf(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
