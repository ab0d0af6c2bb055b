// Turns PET candidates into rules that the optimizer uses like any other rule.
#ifndef LEMMA_PET_RULE_H_
#define LEMMA_PET_RULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::pet {

// The rule that rewrites `source` to `target` at exactly these shapes; it has no symbols. Its
// variables are the inputs of `source`, then its weights, with the role `weight`. `source` must
// have all inputs and weights of `target`. InvalidArgument for a constant of several values, which
// a rule cannot express.
absl::StatusOr<Substitution> GroundRule(std::string name, const Graph& source, const Graph& target);

// The same with a proof record that holds `detail`; the caller must have proved the rule. The float
// contract is kReassociates; the caller must find out whether only kRealOnly holds
// (verifier/certificate/mutant.h). InvalidArgument also if the rule has no proof id.
absl::StatusOr<Substitution> ProvedGroundRule(std::string name, const Graph& source,
                                              const Graph& target, std::string detail);

}  // namespace lemma::pet

#endif  // LEMMA_PET_RULE_H_
