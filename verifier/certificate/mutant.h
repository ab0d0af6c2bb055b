// Rules that are true at their own sizes: is a mutant what a certificate says of it?
#ifndef LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
#define LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::certificate {

// What was found out about a mutant that is right.
struct CheckedMutant {
  FloatContract contract = FloatContract::kRealOnly;  // the strictest that is known to hold
  uint64_t prime = 0;                                 // the second one
  int64_t compared = 0, elements = 0;  // of the output, modulo that prime; all, modulo 2^61 - 1
};

// The strictest contract of a rule without symbols and conditions whose sides are equal as sums of
// products: kReassociates if they are of one element type and each element of the target reads the
// elements of the source's, each as often, but for those of weights, which are finite. Else
// kRealOnly. Nothing of it is taken from the rule's text. FailedPrecondition where CheckMutant says
// so of the rule.
absl::StatusOr<FloatContract> ContractOfSums(const Substitution& rule, uint64_t seed);

// FailedPrecondition, which says why, unless
//   * neither rule has symbols or conditions, both have one output, which is computed from floats
//     by +, -, *, / and sums, and their sources are the same;
//   * source and target have equal elements, all of them, as polynomials with rational
//     coefficients; and, as many as are looked at, modulo a prime drawn by `seed`;
//   * source and mutant differ at all positions of the boxes, and at no other one;
//   * the rule promises no more than ContractOfSums.
//
// Polynomials are compared on two random inputs in the field of 2^61 - 1 elements, their
// coefficients being too small to pass for 0 there (verifier/certificate/exact.h). Of d inputs
// multiplied, a position that differs looks equal with probability at most d / 2^61 on each, if
// whoever wrote the certificate could not know `seed`: nothing else has to be believed.
absl::StatusOr<CheckedMutant> CheckMutant(const Substitution& rule, const CertificateMutant& mutant,
                                          uint64_t seed, int threads);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
