// Chooses the precedence of variants, which orders terms.
#ifndef LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
#define LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_

#include <vector>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// The argument of TermStore::SetPrecedence, chosen from the known `pairs`: a number per variant;
// the variant that comes first has the greatest number. With this order, normal forms are sums of
// products rather than products of sums:
// - f before g if a pair distributes f over g: f(g(x, y)) = g(f(x), f(y)).
// - A variant that can be written in terms of other variants comes before them.
// - If f and g can be exchanged, f(g(x), y) = g(f(x, y)), f comes before g if this holds for more
//   operands of f than of g: then g can stand at several places inside f, but only at one place
//   outside f.
// - Constants come last.
std::vector<int> PrecedenceOf(const OperatorSet& set, const std::vector<const Pair*>& pairs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
