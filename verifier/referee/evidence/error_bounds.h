// Bounds how far the f32 evaluation of a constant can be from its value as a real number, for every
// order of its sums. Internal to the referee.
//
// For each element, three numbers are computed: its value v, in double; its
// magnitude m, by the same formula with absolute values in the place of all
// summands; and a count r of roundings. An evaluation in f32 may round each
// operation, sum in any order and distribute products over sums. It then gives
// a number within r * u * 1.01 * m of v, with u = 2^-24 (Higham, Accuracy and
// Stability of Numerical Algorithms, chapters 3 and 4). The formulas for v, m
// and r are derived from the operator's definition. BoundOf is 0 if r is 0.
// Otherwise it adds (r + 1) * 2^-149 for subnormal numbers; it gives no bound
// if r * u > 0.005.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_ERROR_BOUNDS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_ERROR_BOUNDS_H_

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::referee {

// A definition with three inputs in f64 (value, magnitude, roundings) for each input of
// `definition`, and likewise three outputs for each output. Where no bound is known, the number of
// roundings is infinite. For an integer input, the caller must give the exact values, their
// absolute values, and 0 roundings; where its elements serve as positions, the values are read.
// Unimplemented if an input has floats that are not f32, or if a tensor of the definition is not
// f32.
absl::StatusOr<Definition> BoundedDefinition(const Definition& definition);

// The largest distance of an f32 evaluation from the value; infinite if no bound is known.
double BoundOf(double magnitude, double roundings);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_ERROR_BOUNDS_H_
