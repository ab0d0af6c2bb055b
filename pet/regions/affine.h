// Affine functions of variables that run over ranges, with exact decisions on signs and quotients.
#ifndef LEMMA_PET_REGIONS_AFFINE_H_
#define LEMMA_PET_REGIONS_AFFINE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/expr/affine.h"
#include "graph/expr/index_expr.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// The positions of a range as an affine function: start + step * `var`.
Affine PositionsOf(const Range& range, int var);

// Where to cut the range of a variable. AffineScope returns a cut if it cannot answer a question
// about an affine function on the whole range. It may be able to answer on the pieces.
struct Cut {
  int var = -1;
  int64_t at = 0;       // if modulus is 0: cut before position number `at` (from 0) of the range
  int64_t modulus = 0;  // otherwise: one piece per remainder of the position's number

  // The pieces of the range of `var`.
  std::vector<Range> Pieces(const Range& range) const;
};

// The variables of affine functions and their ranges: variable i runs over [0, extent(i)).
class AffineScope {
 public:
  // Adds a variable and returns its number.
  int Add(int64_t extent) {
    extents_.push_back(extent);
    return static_cast<int>(extents_.size()) - 1;
  }
  int64_t extent(int var) const { return extents_[var]; }
  // The least and the greatest value of f.
  Interval Bounds(const Affine& f) const;

  // IsNonNegative: whether f >= 0. IsZero: whether f = 0. True if this holds everywhere, false if
  // nowhere. nullopt if it holds at some values of the variables only, or is undecided; *cut then
  // says where to cut.
  std::optional<bool> IsNonNegative(const Affine& f, Cut* cut) const;
  std::optional<bool> IsZero(const Affine& f, Cut* cut) const;
  // floor(f / m) for m > 0. nullopt if the quotient is not affine, or if it is undecided whether it
  // is; *cut then says where to cut.
  std::optional<Affine> Quotient(const Affine& f, int64_t m, Cut* cut) const;

 private:
  // The variable of f with the fewest values, and its coefficient.
  std::pair<int, int64_t> Shortest(const Affine& f) const;
  std::vector<int64_t> extents_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_AFFINE_H_
