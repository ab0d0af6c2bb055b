// Turns PET candidates (corrected mutants) into rules that the optimizer uses like any other rule.
#ifndef LEMMA_PET_RULE_H_
#define LEMMA_PET_RULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::pet {

// The rule that rewrites `source` to `target` at exactly these shapes. It has no symbols and no
// proof record. Its variables are the inputs of `source`, then the weights of `source`, with the
// role `weight`. The inputs and weights of `target` must be nodes of `source`. InvalidArgument if
// the elements of a constant differ: a rule cannot express this.
absl::StatusOr<Substitution> GroundRule(std::string name, const Graph& source, const Graph& target);

// The same rule, with a proof record that says "proved" and has this `detail`
// (ProofRecord::detail); the caller must have proved the rule. The float contract is kReassociates;
// the caller must find out whether only kRealOnly holds (verifier/certificate/mutant.h).
// InvalidArgument also if the rule has no proof id.
absl::StatusOr<Substitution> ProvedGroundRule(std::string name, const Graph& source,
                                              const Graph& target, std::string detail);

}  // namespace lemma::pet

#endif  // LEMMA_PET_RULE_H_
