// Builds concrete graphs from patterns: the target of a match, or test instances of a rule.
#ifndef LEMMA_REWRITE_MATCHING_INSTANTIATE_H_
#define LEMMA_REWRITE_MATCHING_INSTANTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Values for a rule's symbols, and its common element type.
struct Assignment {
  SymbolValues symbols;
  DType dtype = DType::kF32;
};

// The concrete type of a variable; InvalidArgument if a size has no value or is negative.
absl::StatusOr<TensorType> TypeOf(const PatternVar& var, const Assignment& assignment);

// The pattern's outputs for the given values of the variables. *nodes: by pattern node, the node
// built for it. InvalidArgument if the pattern is not well-formed for them.
absl::StatusOr<std::vector<Value>> BuildPattern(const Substitution& rule, const Pattern& pattern,
                                                absl::Span<const Value> vars,
                                                const SymbolValues& symbols, DType dtype,
                                                std::vector<NodePtr>* nodes = nullptr);

// kInputs: every variable becomes an input. kRoles: those whose role is not kAny become weights.
enum class VarsAs { kInputs, kRoles };

// The pattern (one of the rule's) as a graph over the rule's variables, in their order.
absl::StatusOr<Graph> Instantiate(const Substitution& rule, const Pattern& pattern,
                                  const Assignment& assignment, VarsAs vars_as = VarsAs::kInputs);

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_INSTANTIATE_H_
