// Finds where two graphs differ: exactly, at their shapes.
//
// The region is found cell by cell. The definitions of both graphs are composed. The output's
// positions are cut wherever a guard (a border, a piece of a concat) or a digit of a reshape
// changes. On each cell, the elements of each graph form one family of polynomials
// (pet/regions/polynomial.h). If the two families are neither equal everywhere nor different
// everywhere, the cell is cut further; at a single position, they are either equal or different. So
// both answers are proved: "equal" for all values of the inputs, "different" for some of them.
//
// A randomized check must agree: both graphs run on random inputs in the field of 2^61 - 1
// elements. If the polynomials have degree n, a position that differs looks equal with probability
// at most n / 2^61 (PET, OSDI'21, theorem 2). A disagreement is a bug: Internal.
#ifndef LEMMA_PET_REGIONS_REGION_H_
#define LEMMA_PET_REGIONS_REGION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

struct RegionOptions {
  uint64_t seed = 1;  // of the randomized check
  // The randomized check runs both graphs as a whole if they have at most this many operations
  // together. Otherwise, it covers the corners of each cell and one position inside the cell.
  double whole_test_ops = 2e8;
  bool compare_in_field = true;   // whether to make the randomized check
  int64_t max_cells = 20000;      // limit on the number of cells
  int64_t max_products = 300000;  // limit on products expanded to compare sums, over all cells
};

struct Region {
  Shape shape;               // of the output
  std::vector<Box> differs;  // disjoint; exactly the positions that differ
  // The cells that make up `differs`, before they are merged into larger boxes. On each cell, the
  // elements of each graph form one family.
  std::vector<Box> parts;
  int64_t positions = 0;  // number of positions in `differs`
  int64_t cells = 0;      // number of cells decided
  // Number of comparisons of the randomized check, all of which agreed. A position may count twice
  // if the check looked only at the cells' corners and at one position inside.
  int64_t tested = 0;

  bool empty() const { return differs.empty(); }
  bool Contains(absl::Span<const int64_t> index) const;
};

// Finds where the outputs of `original` and `mutant` differ. Both have one output, of the same
// type. Inputs correspond by position, weights by name; inputs and weights may have any values.
// InvalidArgument if the types differ; Unimplemented if the type is not a float type or, naming the
// operator, if an element is not a polynomial in the elements of leaves (inputs, weights and
// constants); ResourceExhausted beyond the limits; Internal if the randomized check disagrees.
absl::StatusOr<Region> FindRegion(const Graph& original, const Graph& mutant,
                                  const RegionOptions& options = {});

// Whether two values of one type agree at all positions, as polynomials. The answer is proved, but
// the randomized check is not made. Uses the default limits of RegionOptions.
absl::StatusOr<bool> AgreeEverywhere(const Value& a, const Value& b);

class PolynomialReader;
// Whether two values of one type agree at position `index`, as polynomials. `reader` makes the
// polynomials. ResourceExhausted if the comparison expands more than `max_products` products.
absl::StatusOr<bool> AgreeAt(const Value& original, const Value& mutant,
                             absl::Span<const int64_t> index, int64_t max_products,
                             PolynomialReader* reader);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_REGION_H_
