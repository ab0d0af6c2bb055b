// Finds values at which the constants of a claim may matter. Internal to the prover.
#ifndef LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
#define LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_

#include <cstdint>
#include <vector>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// Samples of small numbers do not show every difference: min(n, 40) is n for n up to 40, and
// clip(x, 0, 6) is relu(x) for x up to 6.
struct Suggestions {
  // For sizes and attributes: values around each integer constant and, if there are few constants,
  // around the sum and product of any two; and twice these numbers. Only magnitudes that small
  // samples do not reach; ascending.
  std::vector<int64_t> sizes;
  // For elements: values around each constant in expressions of elements, and twice each constant.
  // Empty if small samples reach them all.
  std::vector<double> elements;
};

// Uses all constants in the statement's sizes, positions, guards, requirements and elements.
Suggestions SuggestionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
