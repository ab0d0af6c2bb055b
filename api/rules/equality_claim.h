// Turns two graphs with symbolic sizes into a claim for the prover: the claim that they are equal.
#ifndef LEMMA_API_RULES_EQUALITY_CLAIM_H_
#define LEMMA_API_RULES_EQUALITY_CLAIM_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/text/syntax.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Whether a size or an attribute of the graph contains a symbol.
bool IsSymbolic(const text::Block& graph);

// The claim that two graphs are equal as real numbers for all values of their symbols: a rule from
// `a` to `b`. Inputs correspond by position, weights and symbols by name; the values of weights do
// not matter. `file_a` and `file_b` are for messages. InvalidArgument if an input or a weight has
// no counterpart of its type, or if the rule is not well-formed, for example because `a` does not
// use every input.
absl::StatusOr<Substitution> EqualityClaim(const text::Block& a, const std::string& file_a,
                                           const text::Block& b, const std::string& file_b);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EQUALITY_CLAIM_H_
