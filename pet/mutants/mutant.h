// Enumerates mutants: graphs with another layout or another operator that equal the original at
// some positions at least (PET, OSDI'21, section 4), and graphs that compute a part of each sum.
//
// The enumeration follows no list of known mutants. In this order it tries:
//   * A new layout of the data: digits of one dimension (see "digit" in docs/glossary.md) move to
//     another dimension, or a dimension is cut into overlapping blocks. Padding makes sizes
//     divisible, separates elements by a gap, or replaces the operator's own padding. The entries
//     of a list attribute, such as strides, stay, become 0, or are divided by Layout::factor() (the
//     number of blocks, or of values of the digit) and rounded up. If digits move, the layout of
//     weights changes in the same way or stays. The result is moved back or stays.
//   * The same operators over a part of a sum, if the rest can be added to the result
//     (pet/mutants/split_mutant.h).
//   * Other operators that sum products (pet/mutants/operator_mutant.h).
// A graph with a new layout or another operator is a mutant if it has the right type and agrees
// with the original at half or more of some sampled positions, as polynomials. A graph over a part
// of a sum is a mutant if its sum with the rest equals the original everywhere. FindRegion
// (pet/regions/region.h) finds where a mutant differs.
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
  std::optional<Recipe> recipe;  // for a new layout; absent for other mutants
  std::string words;             // a description, if there is no recipe
  // For operators over a part of a sum: the value of the part that is left out. The sum of `rest`
  // and the mutant's output equals the original everywhere. Empty for other mutants.
  Value rest;

  std::string how() const { return recipe ? recipe->ToString() : words; }  // a description
};

struct MutantOptions {
  uint64_t seed = 1;  // of the sampled positions
  int samples = 8;    // number of sampled positions, including the first and the last one
  // A new layout has at most max_growth times as many elements as the original layout, plus 64.
  double max_growth = 1.5;
  int64_t max_tried = 200000;  // limit on combinations of a new layout with attributes
  // Limit on combinations of another operator with operands and attributes.
  int64_t max_operators_tried = 100000;
};

// Calls `found` for each mutant until `found` returns false. The order depends only on the graph
// and the options. InvalidArgument unless `original` has one output; Unimplemented, naming the
// operator, if the output is not a polynomial; ResourceExhausted if its polynomials are too large.
absl::Status ForEachMutant(const Graph& original, const MutantOptions& options,
                           const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_MUTANT_H_
