// Mutants: graphs in another layout or of another operator, equal to the original at some positions
// at least (PET, OSDI'21, section 4).
//
// They are enumerated, not written down, in this order:
//   * the data are laid out anew (digits of one dimension are put into another, with padding where
//     sizes do not divide or a gap has to keep things apart, or a dimension is cut into blocks that
//     overlap), the operators are applied with their attributes as they are or divided by the
//     digit, weights take part in the move or not, and the result is laid out back;
//   * the operators over a part of a sum, if the rest can be added (pet/mutants/split_mutant.h);
//   * other operators that sum products (pet/mutants/operator_mutant.h).
// What has the right type and agrees at half of some sampled positions, as polynomials, is a
// mutant; pet/regions/region.h finds where it differs.
#ifndef LEMMA_PET_MUTANTS_MUTANT_H_
#define LEMMA_PET_MUTANTS_MUTANT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/mutants/recipe.h"

namespace lemma::pet {

struct Mutant {
  Graph graph;                   // inputs and weights as the original's
  std::optional<Recipe> recipe;  // absent: another operator
  std::string words;             // what was done, where there is no recipe
  Value rest;                    // what has to be added everywhere; mostly nothing

  std::string how() const { return recipe ? recipe->ToString() : words; }
};

struct MutantOptions {
  uint64_t seed = 1;  // of the sampled positions
  int samples = 8;    // of them, borders included
  // A layout may take so many times the elements of the original one.
  double max_growth = 1.5;
  int64_t max_tried = 200000;            // combinations whose types are looked at
  int64_t max_operators_tried = 100000;  // the same, of other operators
};

// Calls `found` for each mutant, in an order that depends on the graph and the options alone, until
// it returns false. `original` has one output. The layouts of inputs change, those of weights with
// them or not at all. Unimplemented, which names the operator, if the output is no polynomial.
absl::Status ForEachMutant(const Graph& original, const MutantOptions& options,
                           const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_MUTANT_H_
