// Counts the products that each element sums, by evaluating graphs on ones.
#ifndef LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
#define LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/regions/box.h"
#include "pet/regions/region.h"

namespace lemma::pet {

// A graph with this output and all inputs of `like`, under their names, used or not.
absl::StatusOr<Graph> GraphOf(const Graph& like, const Value& output);

// A box on which each of two graphs sums a constant number of products (less those subtracted).
struct Count {
  Box box;
  int64_t original = 0, mutant = 0;
};

// The parts where the graphs differ, with their counts. InvalidArgument if a count is not positive.
absl::StatusOr<std::vector<Count>> CountsOf(const Graph& original, const Graph& mutant,
                                            const Region& region);

// The graph with each input and weight x replaced by x * 0 + 1.
absl::StatusOr<Graph> OverOnes(const Graph& graph);
// A tensor of the box's shape whose elements are each a sum of `count` ones.
absl::StatusOr<Graph> Counted(const Graph& like, const Box& box, int64_t count);

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
