// Proves for all sizes where a mutant agrees with its original.
//
// The recipe is applied at a few small sizes, and the boxes where the mutant agrees are found
// there. Every number in a shape, an attribute or a box is then fitted by a sum of products of the
// sizes. These fits are guesses. They give rules with symbols, and the prover decides whether these
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
  // One rule per box of `agreeing_boxes`. It says that the graphs agree on this box, for all sizes
  // that the rule's precondition allows.
  std::vector<Substitution> rules;
  std::vector<Verdict> verdicts;            // of the rules
  std::vector<std::string> agreeing_boxes;  // the boxes: "[0:2 * n0, 0:n1, n2 + -1, 0:n3]"
  // The other boxes: the graphs differ at all sizes tried.
  std::vector<std::string> differing_boxes;

  bool proved() const;  // whether all of `rules` are proved; true if there are none

  // Proofs that the graphs differ, on boxes that make up the boxes of `differing_boxes`. If all
  // inputs and weights are ones, the elements of both graphs are counts of products, and these are
  // unequal at all sizes that the rules' preconditions allow. Two rules per box of `counted_boxes`:
  // the first gives the original's count, the second the mutant's count.
  std::vector<Substitution> counts;
  std::vector<Verdict> count_verdicts;
  std::vector<std::string> counted_boxes;  // the boxes: "[…]: 9 * n1 and 6 * n1"
  std::string not_counted;  // why `counts` is empty although `differing_boxes` is not

  // Whether both count rules of counted_boxes[box] are proved, so that the graphs differ there.
  bool differs_proved(size_t box) const;
};

// InvalidArgument if
//   * no size is open (pet/symbolic/open_sizes.h);
//   * the mutant, or the region where it differs, has another form at other sizes; or
//   * a number is no sum of products of the sizes, or depends on more than four sizes.
// Other errors are those of ApplyRecipe (pet/mutants/recipe.h) and FindRegion
// (pet/regions/region.h).
absl::StatusOr<SymbolicRegion> ProveForAllSizes(const Graph& original, const Recipe& recipe,
                                                const ProverOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_SYMBOLIC_H_
