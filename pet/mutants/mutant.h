// Enumerates mutants: graphs with another layout or another operator that equal the original at
// some positions at least (PET, OSDI'21, section 4).
//
// The enumeration follows no list of known mutants. In this order it tries:
//   * A new layout of the data: digits of one dimension move to another, or a dimension is cut into
//     overlapping blocks. Padding makes sizes divisible, separates elements by a gap, or replaces
//     the operator's own padding. Attributes are kept, divided by the size of the digit or set to
//     0. The layout of weights changes in the same way or stays. The result is moved back.
//   * The operators over a part of a sum, if the rest can be added (pet/mutants/split_mutant.h).
//   * Other operators that sum products (pet/mutants/operator_mutant.h).
// A graph is a mutant if it has the right type and agrees with the original at half or more of some
// sampled positions, as polynomials. pet/regions/region.h finds where it differs.
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
  Graph graph;                   // same inputs and weights as the original
  std::optional<Recipe> recipe;  // absent: another operator
  std::string words;             // description, if there is no recipe
  Value rest;  // the part that is left out; adding it everywhere gives the original. Usually absent

  std::string how() const { return recipe ? recipe->ToString() : words; }
};

struct MutantOptions {
  uint64_t seed = 1;  // of the sampled positions
  int samples = 8;    // number of sampled positions, borders included
  // Limit on the elements of a new layout, relative to the original one.
  double max_growth = 1.5;
  int64_t max_tried = 200000;            // combinations whose types are checked
  int64_t max_operators_tried = 100000;  // the same, for other operators
};

// Calls `found` for each mutant until it returns false. The order depends only on the graph and the
// options. `original` has one output. Layouts of inputs change; those of weights change with them
// or not at all. Unimplemented, naming the operator, if the output is not a polynomial.
absl::Status ForEachMutant(const Graph& original, const MutantOptions& options,
                           const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_MUTANT_H_
