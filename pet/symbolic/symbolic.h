// Regions for all sizes.
//
// A recipe is applied at a few small sizes, and so are the boxes where the mutant agrees with its
// original. Every number that occurs, in a shape, an attribute or a box, is then taken to be a sum
// of products of the sizes: that is a guess, which makes rules with symbols. Whether these are true
// is for the prover to say (verifier/prover/prover.h).
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
  // That the graphs agree on a box, for all sizes that its condition allows; one for each box.
  std::vector<Substitution> rules;
  std::vector<Verdict> verdicts;     // of the rules
  std::vector<std::string> agrees;   // the boxes: "[0:2*n, 0:k, 0:h - 1, 0:w]"
  std::vector<std::string> differs;  // the others: so at all sizes that were tried

  bool proved() const;  // that they agree

  // That they differ on boxes that make up the others: with inputs and weights of ones both give
  // counts of products, which are not equal at any size. Two rules for each box, of the original's
  // count and the mutant's.
  std::vector<Substitution> counts;
  std::vector<Verdict> count_verdicts;
  std::vector<std::string> counted;  // the boxes: "[…]: 9 * n1 and 6 * n1"
  std::string not_counted;           // why there are none

  bool differs_proved(size_t box) const;  // number `box` of `counted`
};

// InvalidArgument if no size is open, or the numbers are no such sums: then it says of what.
absl::StatusOr<SymbolicRegion> ProveForAllSizes(const Graph& original, const Recipe& recipe,
                                                const ProverOptions& options = {});

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_SYMBOLIC_H_
