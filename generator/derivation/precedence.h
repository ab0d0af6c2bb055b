// Which instances come before which in the order of terms.
#ifndef LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
#define LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_

#include <vector>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// For TermStore: of each instance, its place, larger ones before smaller ones, so that normal forms
// are sums of products rather than products of sums.
// - f before g if a pair makes g of f's results out of f of g's results: f(g(x, y)) = g(f(x),
// f(y)).
// - An instance that is written in others comes before them.
// - Of two that can be exchanged, the one comes first into more operands of which the other goes:
//   outside, it is in one place.
// - Constants come last.
std::vector<int> PrecedenceOf(const OperatorSet& set, const std::vector<const Pair*>& pairs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
