// Builds concrete graphs from patterns: the target of a match, or test instances of a rule.
#ifndef LEMMA_REWRITE_MATCHING_INSTANTIATE_H_
#define LEMMA_REWRITE_MATCHING_INSTANTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Values for a rule's symbols, and the rule's common element type (rewrite/rules/substitution.h).
struct Assignment {
  SymbolValues symbols;
  DType dtype = DType::kF32;
};

// The concrete type of a variable; InvalidArgument if a size has no value or is negative.
absl::StatusOr<TensorType> TypeOf(const PatternVar& var, const Assignment& assignment);

// The pattern's outputs for the given values of variables and symbols. Appends to *nodes, if given,
// the node built for each pattern node. InvalidArgument if the pattern is not well-formed for these
// values, or if one of its constants would have more than 2^28 bytes.
absl::StatusOr<std::vector<Value>> BuildPattern(const Substitution& rule, const Pattern& pattern,
                                                absl::Span<const Value> vars,
                                                const SymbolValues& symbols, DType dtype,
                                                std::vector<NodePtr>* nodes = nullptr);

// kInputs: every variable becomes an input. kRoles: a variable becomes an input if its role is
// kAny, else a weight without values.
enum class VarsAs { kInputs, kRoles };

// The pattern, which is the rule's source or target, as a graph over the rule's variables, in their
// order. InvalidArgument as in TypeOf and BuildPattern.
absl::StatusOr<Graph> Instantiate(const Substitution& rule, const Pattern& pattern,
                                  const Assignment& assignment, VarsAs vars_as = VarsAs::kInputs);

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_INSTANTIATE_H_
