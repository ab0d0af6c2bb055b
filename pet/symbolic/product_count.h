// Elements over ones: how many products they sum up. Internal to pet.
#ifndef LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
#define LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/regions/box.h"
#include "pet/regions/region.h"

namespace lemma::pet {

// The inputs of `like` by name, each used or not, and one output.
absl::StatusOr<Graph> GraphOf(const Graph& like, const Value& output);

// A box on all of which each of two graphs sums up one number of products, less those subtracted.
struct Count {
  Box box;
  int64_t original = 0, mutant = 0;
};

// The parts where the graphs differ, with these numbers. InvalidArgument if one is not positive.
absl::StatusOr<std::vector<Count>> CountsOf(const Graph& original, const Graph& mutant,
                                            const Region& region);

// The graph's inputs and weights times 0, plus 1.
absl::StatusOr<Graph> OverOnes(const Graph& graph);
// A tensor of the box's shape whose elements are all a sum of so many ones.
absl::StatusOr<Graph> Counted(const Graph& like, const Box& box, int64_t count);

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_PRODUCT_COUNT_H_
