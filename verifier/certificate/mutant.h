// Rules that are true at their own sizes: is a mutant what a certificate says of it?
#ifndef LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
#define LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "rewrite/certificate.h"
#include "rewrite/substitution.h"

namespace lemma::certificate {

// FailedPrecondition, which says why, unless
//   * neither rule has symbols or conditions, both have one output, which is computed from floats
//     by +, -, *, / and sums, and their sources are the same;
//   * source and target have equal elements, all of them, on random inputs in the field of 2^61 - 1
//     elements;
//   * source and mutant differ at all positions of the boxes, and at no other one.
//
// Of d inputs multiplied, a position that differs looks equal with probability at most d / 2^61 on
// each of two inputs, so nothing has to be believed.
absl::Status CheckMutant(const Substitution& rule, const CertificateMutant& mutant, uint64_t seed,
                         int threads);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_MUTANT_H_
