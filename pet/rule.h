// Turns PET candidates into rules that the optimizer uses like any other rule.
#ifndef LEMMA_PET_RULE_H_
#define LEMMA_PET_RULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::pet {

// The rule that the two graphs' outputs are equal, at their shapes; it has no symbols. Its
// variables are the inputs, then the weights of `source`, which has all weights of `target`;
// weights stay weights. InvalidArgument for a non-uniform constant, which a rule cannot express.
absl::StatusOr<Substitution> GroundRule(std::string name, const Graph& source, const Graph& target);

// As above, with a proof record that holds `detail`; the caller must have proved the rule. The
// float contract is kReassociates; the caller must find out whether only kRealOnly holds
// (verifier/certificate/mutant.h).
absl::StatusOr<Substitution> ProvedGroundRule(std::string name, const Graph& source,
                                              const Graph& target, std::string detail);

}  // namespace lemma::pet

#endif  // LEMMA_PET_RULE_H_
