// Candidates as rules: what lets the optimizer use them like any other.
#ifndef LEMMA_PET_RULE_H_
#define LEMMA_PET_RULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::pet {

// The rule that the graphs' outputs are equal, at their shapes: it has no symbol. Variables are the
// inputs, then the weights that either side reads, in the order of `source`; those are weights in
// the rule too. InvalidArgument if a constant has several values, which a rule cannot say.
absl::StatusOr<Substitution> GroundRule(std::string name, const Graph& source, const Graph& target);

// The same with a record that says that it is proved, as the caller has done, and `detail`. The
// float contract is kReassociates; whoever uses the rule finds out whether only kRealOnly holds
// (verifier/certificate/mutant.h).
absl::StatusOr<Substitution> ProvedGroundRule(std::string name, const Graph& source,
                                              const Graph& target, std::string detail);

}  // namespace lemma::pet

#endif  // LEMMA_PET_RULE_H_
