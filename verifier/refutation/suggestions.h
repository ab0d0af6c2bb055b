// Values at which the constants of a claim may matter. Internal to the prover.
#ifndef LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
#define LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_

#include <cstdint>
#include <vector>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// min(n, 40) is n unless n is larger, and clip(x, 0, 6) is relu(x) where x is at most 6: a sample
// of small numbers shows no difference.
struct Suggestions {
  // Of sizes and attributes: next to each whole constant, its double, and the sums and products of
  // two of them; beyond what small samples reach. Ascending; magnitudes only.
  std::vector<int64_t> sizes;
  // Of elements: the same for each constant among the elements; nothing if small samples reach all.
  std::vector<double> elements;
};

// From all constants in the statement's sizes, positions, guards, requirements and elements.
Suggestions SuggestionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_SUGGESTIONS_H_
