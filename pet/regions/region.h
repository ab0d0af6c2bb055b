// Where two graphs differ: exactly, at their shapes.
//
// A region is found cell by cell. The definitions of both graphs are composed; the positions of the
// output are cut wherever a guard (a border, a piece of a concat) or a digit of a reshape changes
// its course; on each cell the elements are two families of polynomials (pet/regions/polynomial.h),
// which are equal everywhere or different everywhere, or the cell is cut on, down to single
// positions, where one or the other is always found. So "equal" is a proof for all values of the
// inputs, and so is "different".
//
// An independent test has to agree: both graphs are run in the field of 2^61 - 1 elements on random
// inputs. Of n inputs multiplied, a position that differs looks equal with probability at most
// n / 2^61 (PET, OSDI'21, theorem 2). A disagreement is our mistake: Internal.
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
  uint64_t seed = 1;  // of the field test
  // Both graphs are run as a whole if that takes at most so many operations; else the test takes
  // the corners of every cell and one position inside it.
  double whole_test_ops = 2e8;
  bool field_test = true;
  int64_t max_cells = 20000;
  int64_t max_products = 300000;  // written out where sums are compared, in all cells
};

struct Region {
  Shape shape;               // of the output
  std::vector<Box> differs;  // disjoint; every position in them differs, no other one does
  std::vector<Box> parts;  // the same, not joined: on each both graphs' polynomials are one family
  int64_t positions = 0;   // in them
  int64_t cells = 0;       // that were decided
  int64_t tested = 0;      // positions at which the field test agreed

  bool empty() const { return differs.empty(); }
  bool Contains(absl::Span<const int64_t> index) const;
};

// Where the outputs of `original` and `mutant` differ. Both have one output, of one type; inputs
// correspond by position, weights by name, and both may have any values. InvalidArgument if the
// types differ; Unimplemented, which names the operator, if an element is no polynomial in the
// inputs; ResourceExhausted beyond the limits.
absl::StatusOr<Region> FindRegion(const Graph& original, const Graph& mutant,
                                  const RegionOptions& options = {});

// Whether values of one type agree at all positions, as polynomials: a proof, without the field
// test.
absl::StatusOr<bool> AgreeEverywhere(const Value& a, const Value& b);

// Whether they agree at this position, as polynomials. ResourceExhausted beyond the limit.
class PolynomialReader;
absl::StatusOr<bool> AgreeAt(const Value& original, const Value& mutant,
                             absl::Span<const int64_t> index, int64_t max_products,
                             PolynomialReader* reader);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_REGION_H_
