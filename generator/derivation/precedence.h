// Chooses the precedence of variants, which orders terms.
#ifndef LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
#define LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_

#include <vector>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// The argument of TermStore::SetPrecedence, chosen from the known `pairs`: a number per variant;
// the variant that comes first has the greatest number. The rules of the order:
// - f comes before g if a pair distributes f over g: f(g(x, y)) = g(f(x), f(y)). So normal forms
//   are sums of products rather than products of sums.
// - A variant that can be written in terms of other variants comes before them.
// - If f(g(x), y) = g(f(x, y)), g may be applied to an operand of f or to the result of f. f comes
//   before g if g may be applied to more operands of f than f to operands of g. So normal forms
//   have g outside, where there is one place for it, and not on one of several operands. This rule
//   decides only between two variants about which the first two rules say nothing.
// Where pairs disagree about two variants, the majority decides. Constants come last in any case.
std::vector<int> PrecedenceOf(const OperatorSet& set, const std::vector<const Pair*>& pairs);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_PRECEDENCE_H_
