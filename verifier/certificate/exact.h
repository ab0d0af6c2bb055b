// Decides when equality modulo a prime implies equality of rational polynomials.
//
// Sums and products of inputs are polynomials with rational coefficients. Polynomials that are
// equal modulo a prime may differ: 2^61 - 1 and 0 are equal modulo 2^61 - 1. They do not differ if
// the coefficients of their difference, over a common denominator, are smaller than the prime.
#ifndef LEMMA_VERIFIER_CERTIFICATE_EXACT_H_
#define LEMMA_VERIFIER_CERTIFICATE_EXACT_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::certificate {

// `a` and `b` must have one type and be computed by +, -, *, / and sums. Ok if equality of elements
// at random points modulo 2^61 - 1 implies that they are equal as polynomials with rational
// coefficients. Otherwise FailedPrecondition, which says why: a constant is not a real number; a
// divisor is not constant; numbers are so large, or denominators so large, that a coefficient may
// be 0 modulo the prime; or an element reads 2^40 or more others, counted with repetition, so that
// a polynomial of that degree may be 0. All bounds are rounded up.
absl::Status DecidedByField(const Value& a, const Value& b);

// A hash for each element of `value`, in row-major order. It depends on how often the element reads
// each element of each input and weight outside `finite`: it is the sum of these counts times
// random numbers of the field, drawn by `seed`. Different hashes show different reads. Equal hashes
// mean the same reads, each as often, except with probability 2^-61. FailedPrecondition if an
// element makes 2^40 reads or more, since counts are numbers of the field.
absl::StatusOr<std::vector<uint64_t>> ReadsOf(const Value& value,
                                              const absl::flat_hash_set<Value>& finite,
                                              uint64_t seed);

// A prime between 2^61 and 2^62, drawn by `seed`.
uint64_t DrawPrime(uint64_t seed);

// Compares elements of `a` and `b` modulo `prime` on random inputs: all elements, or as many, drawn
// by `seed`, as some 2^25 steps allow. Returns the number of elements compared; FailedPrecondition
// if one differs. The evaluator (modulo.cc) shares no code with kernels/evaluate.
absl::StatusOr<int64_t> CompareModulo(const Value& a, const Value& b, uint64_t prime,
                                      uint64_t seed);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_EXACT_H_
