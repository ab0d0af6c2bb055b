// Proves for all sizes where a mutant agrees with its original.
//
// The recipe is applied at a few small sizes, and the boxes where the mutant agrees are found
// there. Every number in a shape, an attribute or a box is then fitted by a sum of products of the
// sizes. These fits are guesses, which make rules with symbols; the prover decides whether the
// rules are true (verifier/prover/prover.h).
#ifndef LEMMA_PET_SYMBOLIC_SYMBOLIC_H_
#define LEMMA_PET_SYMBOLIC_SYMBOLIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/mutants/recipe.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma::pet {

struct SymbolicRegion {
  // One rule per box: the graphs agree on it, for all sizes that the rule's condition allows.
  std::vector<Substitution> rules;
  std::vector<Verdict> verdicts;     // of the rules
  std::vector<std::string> agrees;   // the boxes: "[0:2*n, 0:k, 0:h - 1, 0:w]"
  std::vector<std::string> differs;  // the other boxes, as found at all sizes tried

  bool proved() const;  // that all of `rules` are true

  // Proofs that the graphs differ, on boxes that make up the boxes of `differs`: on inputs and
  // weights of ones both graphs give counts of products, which are unequal at all sizes. Two rules
  // per box, for the original's count and for the mutant's.
  std::vector<Substitution> counts;
  std::vector<Verdict> count_verdicts;
  std::vector<std::string> counted;  // the boxes: "[…]: 9 * n1 and 6 * n1"
  std::string not_counted;           // why `counts` is empty

  bool differs_proved(size_t box) const;  // `box` is an index in `counted`
};

// InvalidArgument if no size is open, if the mutant or where it differs has another form at other
// sizes, or if a number has no such formula.
absl::StatusOr<SymbolicRegion> ProveForAllSizes(const Graph& original, const Recipe& recipe,
                                                const ProverOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_SYMBOLIC_H_
