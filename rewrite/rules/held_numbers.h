// Checks that a graph can represent the numbers in a rule.
//
// A rule is proved for real numbers. An application rounds them: a constant to its element type, an
// attribute to a double and, in ONNX and on most back ends, to f32 or to the type of the operator's
// operands. A number that is rounded once still satisfies the rule, up to the rounding that the
// float contract allows. A number that becomes 0 or infinite does not satisfy it. The difference of
// two large numbers that are rounded before the subtraction does not satisfy it either.
#ifndef LEMMA_REWRITE_RULES_HELD_NUMBERS_H_
#define LEMMA_REWRITE_RULES_HELD_NUMBERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Whether `stored` differs from `value` by at most one rounding to `dtype`. Integers, f64 numbers,
// and values that are not finite must be equal; NaN equals NaN.
bool IsRounded(double value, double stored, DType dtype);

// Checks `node`, an instance of `pattern` at the symbols' values. The node's constant and its real
// attributes have to be the exact values of the pattern's terms, rounded once. Returns "" if they
// are, otherwise a description, for people, of the first number that is not. An attribute whose
// term is only a symbol is not checked: its value was matched, not computed.
std::string LostNumber(const PatternNode& pattern, const Node& node, const SymbolValues& symbols);

// Checks each nodes[i] as the instance of side.nodes[i]. FailedPrecondition with the first
// description that LostNumber gives.
absl::Status CheckNumbers(const Pattern& side, absl::Span<const NodePtr> nodes,
                          const SymbolValues& symbols);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_HELD_NUMBERS_H_
