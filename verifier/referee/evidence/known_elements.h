// Facts about the elements of a constant that a proof may use. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_KNOWN_ELEMENTS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_KNOWN_ELEMENTS_H_

#include <optional>

#include "graph/graph.h"
#include "verifier/referee/evidence/constants.h"

namespace lemma::referee {

// A fact that is known about all elements of a value.
enum class Known {
  kAny,          // nothing
  kZeroOrOne,    // each is 0 or 1
  kNotNegative,  // none is below 0 or is -0
  kNotPositive,  // none is above 0 or is +0
  kElements,     // the elements themselves
};
// "any", "zero_or_one", "not_negative", "not_positive", "elements".
const char* Name(Known known);

// The fact about signs that holds for the exact elements and for every evaluation in f32. kAny if a
// zero has another sign than the other elements, if an element may have either sign, or if an
// element is not finite. Never kElements.
Known SignsOf(const BoundedTensor& tensor);

// The element type that the `input` of Restricted must have if the result has the type `dtype`.
DType InputTypeFor(Known known, DType dtype);
// A value of type `dtype` that satisfies `known` for all elements of `input`: `input` itself
// (kAny), |input| (kNotNegative), -|input| (kNotPositive), or 1 where the boolean `input` is true
// and 0 where it is false (kZeroOrOne). InvalidArgument for kElements.
absl::StatusOr<Value> Restricted(Known known, DType dtype, const Value& input);

// `value` as a constant; nullopt unless it is a float that is computed from constants without
// rounding, and finite. Other types are left out because constants are computed in double, which
// does not hold all integers.
std::optional<Value> AsConstant(const Value& value, ConstantEvaluator* evaluator);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_KNOWN_ELEMENTS_H_
