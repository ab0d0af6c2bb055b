// Checks corrected mutants (docs/pet.md): rules that are true at their own sizes only.
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
  uint64_t prime = 0;                                 // the second prime
  // The numbers of elements compared modulo `prime`, and of all elements, which were compared
  // modulo 2^61 - 1.
  int64_t compared = 0, elements = 0;
};

// The strictest contract of a rule without symbols and conditions whose sides are equal sums of
// products. kReassociates if all elements have one type and each element of the target reads the
// same elements as that of the source, each as often; reads of weights are ignored, since weights
// are finite. Otherwise kRealOnly. Does not use the contract that the rule states.
// FailedPrecondition if CheckMutant would reject the rule because of its sums.
absl::StatusOr<FloatContract> ContractOfSums(const Substitution& rule, uint64_t seed);

// Checks that `rule` is a correct mutant: that its target is the target of mutant.rule, corrected
// in the boxes mutant.differs. FailedPrecondition, which says why, unless
//   * `rule` and mutant.rule have the same source, no symbols and no conditions, and one output
//   each,
//     which is computed from floats by +, -, *, / and sums;
//   * all elements of source and target are equal as polynomials with rational coefficients, and
//     those that CompareModulo compares, also modulo a prime drawn by `seed`;
//   * the source and the target of mutant.rule differ at all positions of the boxes, and at no
//   other;
//   * the rule promises no stricter contract than ContractOfSums gives.
//
// Compares polynomials on two random inputs in the field of 2^61 - 1 elements; their coefficients
// are too small to be 0 there (verifier/certificate/exact.h). If d inputs are multiplied, a
// position that differs looks equal with probability at most d / 2^61 on each input. The only
// assumption: the author of the certificate did not know `seed`.
absl::StatusOr<CheckedMutant> CheckMutant(const Substitution& rule, const CertificateMutant& mutant,
                                          uint64_t seed, int threads);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
