// Suggests sizes and elements at which a claim may be false because of its constants. Internal to
// the prover.
#ifndef LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
#define LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_

#include <cstdint>
#include <vector>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// Small random numbers do not show every difference: min(n, 40) is n for n up to 40, and
// clip(x, 0, 6) is relu(x) for x up to 6. So larger numbers are tried, too.
struct Suggestions {
  // For sizes and attributes: c - 1, c, c + 1, 2c and 2c + 1, where c is the
  // magnitude of an integer constant, from 2 to 5000. If there are few such
  // magnitudes, c is also the sum and the product of any two of them. Leaves
  // out values up to 5, which small samples reach, and values above 5000.
  // Ascending.
  std::vector<int64_t> sizes;
  // For elements: c - 1, c + 1 and 2c for each finite constant c above 2 in magnitude in
  // expressions of elements, by ascending c. Empty if there is none.
  std::vector<double> elements;
};

// Uses all constants in the statement's sizes, positions, guards, requirements and elements.
Suggestions SuggestionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
