// When equality in the field implies equality of rational polynomials.
//
// Sums and products of inputs are polynomials with rational coefficients. Equal modulo a prime they
// need not be equal: 2^61 - 1 is 0 there. They are if the coefficients of their difference, made
// whole by a common denominator, are smaller than the prime.
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

// Ok if elements of `a` and `b`, which are of one type and computed by +, -, *, / and sums, that
// are equal at random points modulo 2^61 - 1 are equal as polynomials with rational coefficients.
// FailedPrecondition, which says why: a constant is no real number, something that is no constant
// divides, numbers are so large or so fine that a coefficient may pass for 0, or an element reads
// 2^40 others or more, each as often as it does: a polynomial of that degree may pass for 0. No
// bound is rounded down.
absl::Status DecidedByField(const Value& a, const Value& b);

// By element of `value`, a random linear function, drawn by `seed`, of how often it reads each
// element of each float input other than `finite`. Different ones show different reads; equal ones,
// but with probability 2^-61, the same reads, each as often. FailedPrecondition if that is 2^40
// times or more: counts are numbers of the field.
absl::StatusOr<std::vector<uint64_t>> ReadsOf(const Value& value,
                                              const absl::flat_hash_set<Value>& finite,
                                              uint64_t seed);

// A prime between 2^61 and 2^62.
uint64_t DrawPrime(uint64_t seed);

// Compares elements of `a` and `b` modulo `prime` on random inputs, by an evaluator that shares
// nothing with graph/expr/evaluate: all positions, or as many, drawn by `seed`, as some 2^25 steps
// allow. Returns how many; FailedPrecondition if one differs.
absl::StatusOr<int64_t> CompareModulo(const Value& a, const Value& b, uint64_t prime,
                                      uint64_t seed);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_EXACT_H_
