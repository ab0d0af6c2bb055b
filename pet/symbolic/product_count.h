// Counts the products that are summed in each element of a graph's output. The count is the
// element's value if all inputs and weights, and all constants with unequal elements, are replaced
// by ones.
#ifndef LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
#define LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/regions/box.h"
#include "pet/regions/region.h"

namespace lemma::pet {

// A graph with this output and all inputs of `like`, under their names, whether `output` uses them
// or not.
absl::StatusOr<Graph> GraphOf(const Graph& like, const Value& output);

// A box on which each element of the original's output sums `original` products, and each element
// of the mutant's output sums `mutant` products. Each product counts with its coefficient.
struct Count {
  Box box;
  int64_t original = 0, mutant = 0;
};

// The boxes of region.parts with their counts. `region` must be the result of FindRegion(original,
// mutant). InvalidArgument if a count is not a positive integer.
absl::StatusOr<std::vector<Count>> CountsOf(const Graph& original, const Graph& mutant,
                                            const Region& region);

// The graph with each input and weight x replaced by x * 0 + 1. All constants stay, also those with
// unequal elements.
absl::StatusOr<Graph> OverOnes(const Graph& graph);
// A graph with all inputs of `like` whose output has the box's shape. Each element is a sum of
// `count` ones.
absl::StatusOr<Graph> Counted(const Graph& like, const Box& box, int64_t count);

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
