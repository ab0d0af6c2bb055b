// Positions as affine functions of variables that run over whole ranges. Internal to pet.
#ifndef LEMMA_PET_REGIONS_AFFINE_H_
#define LEMMA_PET_REGIONS_AFFINE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/expr/index_expr.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// base + sum of coefficient * variable; variables ascending, coefficients not zero.
struct Affine {
  int64_t base = 0;
  absl::InlinedVector<std::pair<int, int64_t>, 6> terms;

  static Affine Of(int64_t value) { return {value, {}}; }
  // The positions of a range, counted by `var`.
  static Affine Of(const Range& range, int var) {
    if (range.count == 1) return Of(range.start);
    return {range.start, {{var, range.step}}};
  }
  bool is_const() const { return terms.empty(); }
};
Affine Sum(const Affine& a, const Affine& b, int64_t scale = 1);  // a + scale * b

// Where a range has to be cut before something about it can be decided.
struct Cut {
  int var = -1;
  int64_t at = 0;       // in front of this position of the range, or
  int64_t modulus = 0;  // into as many residues

  // The pieces of the range of `var`.
  std::vector<Range> Pieces(const Range& range) const;
};

// The variables: number i runs over [0, extents[i]).
class AffineScope {
 public:
  int Add(int64_t extent) {
    extents_.push_back(extent);
    return static_cast<int>(extents_.size()) - 1;
  }
  int64_t extent(int var) const { return extents_[var]; }
  Interval Bounds(const Affine& f) const;

  // f >= 0, or f = 0; nullopt: it depends, and *cut says where to cut.
  std::optional<bool> IsNonNegative(const Affine& f, Cut* cut) const;
  std::optional<bool> IsZero(const Affine& f, Cut* cut) const;
  // floor(f / m); nullopt: no affine function, and *cut says where to cut.
  std::optional<Affine> Quotient(const Affine& f, int64_t m, Cut* cut) const;

 private:
  // Of the variables of f the one with the fewest values.
  std::pair<int, int64_t> Shortest(const Affine& f) const;
  std::vector<int64_t> extents_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_AFFINE_H_
