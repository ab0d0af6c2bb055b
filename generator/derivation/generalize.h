// Generalizes a pair: replaces terms and inputs by new variables, as long as both graphs have equal
// values on random inputs.
#ifndef LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_
#define LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "generator/derivation/term_store.h"
#include "generator/enumeration/evaluator.h"

namespace lemma::generator {

// A more general pair, whose graphs still have equal values on random inputs; the given pair is a
// special case of this pair.
// - A common term of both sides becomes a variable if its value does not matter. If relu(a) occurs
//   on both sides, a new variable d takes its place on both: matmul(relu(a), add(b, c)) becomes
//   matmul(d, add(b, c)). The type of d is that of relu(a), even if no input of the set has it.
// - Some uses of an input become a new input: add(concat(a, b), concat(c, c)) becomes
//   add(concat(a, b), concat(c, d)), even if the set has only three inputs of that kind. If a term
//   is used twice, an input of the term may become a new input in one use and stay in the other.
// The search is greedy: it tries larger terms first, and takes the first change that works.
struct GeneralPair {
  Pair pair;
  std::vector<int> more_types;  // the types of the inputs after the inputs of the set
};
// `store` must be for the evaluator's set. Errors are the evaluator's errors.
absl::StatusOr<GeneralPair> Generalized(Evaluator* evaluator, TermStore* store, const Pair& pair);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_
