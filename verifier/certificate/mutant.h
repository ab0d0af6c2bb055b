// Checks corrected mutants (docs/pet.md): rules without symbols, which are true at their own sizes
// only.
#ifndef LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
#define LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::certificate {

// The result for a correct mutant.
struct CheckedMutant {
  FloatContract contract = FloatContract::kRealOnly;  // the strictest contract known to hold
  uint64_t prime = 0;                                 // the second prime; the first is 2^61 - 1
  // The number of elements that were compared modulo `prime`, and the number of all elements; all
  // were compared modulo 2^61 - 1.
  int64_t compared = 0, elements = 0;
};

// The strictest contract of a rule that has no symbols and no conditions, and
// whose sides are equal sums of products. kReassociates under two conditions:
// all values have the same element type; and at each position of the output,
// both sides read the same elements, each equally often. Reads of weights are
// ignored, since weights are finite. Otherwise kRealOnly. Does not use the
// contract that the rule states. FailedPrecondition if the rule does not have
// the form that CheckMutant requires, or if an element makes too many reads for
// ReadsOf (verifier/certificate/exact.h).
absl::StatusOr<FloatContract> ContractOfSums(const Substitution& rule, uint64_t seed);

// Checks that `rule` is a correct mutant: that its target is the target of mutant.rule, corrected
// in the boxes mutant.differs. FailedPrecondition, which says why, unless
//   * `rule` and mutant.rule have the same source, no symbols and no conditions, and one output
//     each, which is computed from floats by +, -, *, / and sums;
//   * each side has at most 1000 operators, each variable and output at most 2^28 elements, and
//     each real attribute is an f32 number unless an operand is f64;
//   * all elements of source and target are equal as polynomials with rational coefficients, and
//     the elements that CompareModulo compares are also equal modulo a prime drawn by `seed`;
//   * the boxes do not overlap, and the source and the target of mutant.rule differ exactly at
//     their positions;
//   * the rule promises no stricter contract than ContractOfSums gives.
//
// Compares polynomials on two random inputs in the field of 2^61 - 1 elements; the coefficients of
// their differences are too small to be 0 there (verifier/certificate/exact.h). If the polynomials
// have degree d, a position that differs looks equal with probability at most d / 2^61 on each
// input. The only assumption is that the author of the certificate did not know `seed`.
absl::StatusOr<CheckedMutant> CheckMutant(const Substitution& rule, const CertificateMutant& mutant,
                                          uint64_t seed, int threads);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
