// Pairs with as many variables as they are true for.
#ifndef LEMMA_GENERATOR_GENERALIZE_H_
#define LEMMA_GENERATOR_GENERALIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "generator/evaluator.h"

namespace lemma::generator {

// The pair with some occurrences of an input made a new one, where source and target stay equal on
// random values: add(concat(a, b), concat(c, c)) becomes add(concat(a, b), concat(c, d)), although
// there are three inputs of a kind only. What the pair says follows from the result. Greedy: of
// several ways, the first.
struct GeneralPair {
  Pair pair;
  std::vector<int> more_inputs;  // beyond those of the set: inputs of the set of the same type
};
absl::StatusOr<GeneralPair> Generalized(Evaluator* evaluator, const Pair& pair);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_GENERALIZE_H_
