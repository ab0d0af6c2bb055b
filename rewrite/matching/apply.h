// Applies a rule to a graph at a match.
#ifndef LEMMA_REWRITE_MATCHING_APPLY_H_
#define LEMMA_REWRITE_MATCHING_APPLY_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/matching/match.h"

namespace lemma {

// The graph of `index` with each output of the match replaced by the target's output of the same
// number. The match must not be Matcher::Tangled. Nodes that do not depend on the replaced outputs
// are shared with the old graph. Names of inputs and outputs stay. A replaced value's label passes
// to the value that takes its place. FailedPrecondition as in BuildTarget; also if the target would
// change a value's type, or if the value of a variable may be empty, since proofs do not cover
// empty values.
absl::StatusOr<Graph> Apply(const Substitution& rule, const Match& match, const MatchIndex& index);

// The target's outputs for the match. FailedPrecondition if the target is not well-formed, or if a
// number in it cannot be represented (rewrite/rules/held_numbers.h).
absl::StatusOr<std::vector<Value>> BuildTarget(const Substitution& rule, const Match& match);

// The graph of `index` in which, for each pair, the first value is replaced by the second. For
// rewrites that are not rules. FailedPrecondition if the two values of a pair differ in type. The
// new values must not depend on the replaced values.
absl::StatusOr<Graph> Replace(const MatchIndex& index,
                              const std::vector<std::pair<Value, Value>>& replacements);

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_APPLY_H_
