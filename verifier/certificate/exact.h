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

// `a` and `b` must have the same type and be computed by +, -, *, / and sums.
// OK if equality of their elements at random points modulo 2^61 - 1 implies,
// with a probability near 1, that the elements are equal as polynomials with
// rational coefficients. Otherwise FailedPrecondition, for one of these
// reasons: a constant is not a real number; an attribute is open; a divisor is
// 0 or not constant; numbers or denominators are so large that a coefficient
// may be 0 modulo the prime; or an element is computed from 2^40 or more
// elements, counted with repetition, so that its degree may be too large. The
// estimates of coefficients, denominators and degrees are upper bounds.
absl::Status DecidedByField(const Value& a, const Value& b);

// A hash for each element of `value`, in row-major order. `value` must be computed from inputs of a
// graph and constants, without weights. The hash depends on how often the element reads each
// element of each input; reads of the inputs in `finite`, whose elements are known to be finite, do
// not count. The hash is the sum of these counts, each times a random number of the field, drawn by
// `seed`. Different hashes show different reads. Equal hashes mean the same reads, each as often,
// except with probability 2^-61. FailedPrecondition if an element makes 2^40 reads or more.
absl::StatusOr<std::vector<uint64_t>> ReadsOf(const Value& value,
                                              const absl::flat_hash_set<Value>& finite,
                                              uint64_t seed);

// A random prime between 2^61 and 2^62. Equal seeds give equal primes.
uint64_t DrawPrime(uint64_t seed);

// Compares elements of `a` and `b`, which must have the same type, modulo `prime` on random inputs.
// Both must be computed from inputs of a graph and constants, without weights. Takes the elements
// in a random order, drawn by `seed`, until about 2^25 steps of evaluation are made. Returns the
// number of elements compared. FailedPrecondition if an element differs or cannot be computed. The
// evaluator (modulo.cc) shares no code with kernels/evaluate.
absl::StatusOr<int64_t> CompareModulo(const Value& a, const Value& b, uint64_t prime,
                                      uint64_t seed);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_EXACT_H_
