// Whether a graph holds the numbers that a rule speaks of.
//
// A rule is proved of real numbers. An application rounds them: a constant to its element type, an
// attribute to a double and, in ONNX and on most back ends, to an f32 number or to the type it
// stands beside. Rounded once a number is still what the rule says, up to the rounding that its
// float contract allows. One that becomes 0 or infinite is not, nor is what is left of a difference
// of large numbers.
#ifndef LEMMA_REWRITE_RULES_HELD_NUMBERS_H_
#define LEMMA_REWRITE_RULES_HELD_NUMBERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Whether `stored` is `value` rounded once to `dtype`: exact for integers, for f64, and where
// `value` is no finite number.
bool IsRounded(double value, double stored, DType dtype);

// `node` is what the pattern's node is at the symbols' values. "" if its constant or its real
// attributes are what the pattern's terms mean in real numbers, rounded once; else which one is
// not. A symbol by itself stands for the number that it is.
std::string LostNumber(const PatternNode& pattern, const Node& node, const SymbolValues& symbols);

// FailedPrecondition, which names the number, if LostNumber finds one in `nodes`, which are those
// of `side` one by one.
absl::Status CheckNumbers(const Pattern& side, absl::Span<const NodePtr> nodes,
                          const SymbolValues& symbols);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_HELD_NUMBERS_H_
