// Pairs with as many variables as they are true for.
#ifndef LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_
#define LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "generator/derivation/term_store.h"
#include "generator/enumeration/evaluator.h"

namespace lemma::generator {

// A pair of which the given one is an instance, and that is equal on random values too:
// - what both sides compute alike is a variable where it does not matter what it is:
//   matmul(relu(a), add(b, c)) and … relu(a) … become matmul(d, add(b, c)) and … d …, d of the type
//   of relu(a), which no input of the set may have;
// - some uses of an input are a new one, also where they are in a term that is used twice:
//   add(concat(a, b), concat(c, c)) becomes add(concat(a, b), concat(c, d)), although there are
//   three inputs of a kind only.
// Greedy: of several ways, the first; larger terms first.
struct GeneralPair {
  Pair pair;
  std::vector<int> more_types;  // of inputs beyond those of the set
};
// `store` is of the evaluator's set.
absl::StatusOr<GeneralPair> Generalized(Evaluator* evaluator, TermStore* store, const Pair& pair);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_GENERALIZE_H_
