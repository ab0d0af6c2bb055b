// Writes proofs as text files that other programs can repeat: a second solver repeats the
// obligations, and the small checker the steps. docs/proofs.md describes the format.
#ifndef LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
#define LEMMA_VERIFIER_PROVER_PROOF_FILE_H_

#include <string>
#include <vector>

#include "rewrite/rules/statement.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

// A proof file has one part for each form. These are the first lines of the part about `form`: the
// line "form", then a line for each of the rule's symbols that has a value in the form.
std::vector<std::string> FormLines(const Substitution& rule, const RuleForm& form);

// The text of a rule's proof file. `proved` must come from ProveRule(rule) with
// ProverOptions::keep_obligations.
std::string WriteProofFile(const Substitution& rule, const Proved& proved);
// All obligations of `log` as one SMT-LIB 2 script, with `title` in a comment. A solver that
// confirms the proof prints "unsat" for each obligation.
std::string ObligationScript(const std::string& title, const ProofLog& log);

// A file name for the rule of this name. Each byte that is not a letter, a digit, _, - or . becomes
// % and two hexadecimal digits; so does a dot at the beginning.
std::string FileNameOf(const std::string& name);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_PROOF_FILE_H_
