// Reads the elements of a graph as polynomials in the elements of its leaves, for a whole box of
// positions at once.
//
// At constant shapes, every element of a graph of sums, products and layout operators is a
// polynomial. On a box where all guards are constant and all digits of indices (quotients and
// remainders) are affine, the polynomials of all positions form one family:
//
//   element(v) = sum of summands;  summand(v) = coefficient * sum(r < extents) product of reads,
//   read(v, r) = leaf[base + outer . v + inner . r]        (row-major positions)
//
// v counts the steps from the box's first position, by dimension (0 <= v[d] < box[d].count); r
// counts along the summand's axes.
//
// Families are derived from operator definitions, never from operator names. Two families are equal
// on the box if their summands cancel.
#ifndef LEMMA_PET_REGIONS_POLYNOMIAL_H_
#define LEMMA_PET_REGIONS_POLYNOMIAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// An exact coefficient. A result that does not fit into 64 bits is invalid; so is every result that
// is computed from an invalid number.
struct Rational {
  int64_t numerator = 0, denominator = 1;  // reduced; denominator > 0, or 0 if invalid

  static Rational Of(int64_t value) { return {value, 1}; }
  // Invalid if the value is not finite, too large, or not a fraction of 64-bit numbers.
  static Rational OfDouble(double value);
  bool valid() const { return denominator > 0; }
  bool is_zero() const { return valid() && numerator == 0; }
  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  Rational Inverse() const;  // of 0: invalid
  friend Rational operator-(const Rational& a) { return a * Of(-1); }
};

struct TermRead {
  int leaf = 0;  // number of the leaf (PolynomialReader::NumberOf)
  int64_t base = 0;
  std::vector<int64_t> outer;  // by dimension of the box: the change per step of its range
  std::vector<int64_t> inner;  // by axis of the summand: the change per step of the axis
};
// A summand in normal form: reads and axes are sorted, axes without reads are removed, axes that
// continue one another are merged, and the position of at least one read increases along each axis.
// Equal Summands have the same value at every position of the box. Different Summands may also have
// the same values everywhere.
struct Summand {
  std::vector<int64_t> extents;
  std::vector<TermRead> reads;
  friend bool operator<(const Summand& a, const Summand& b);
};
using Polynomial = std::map<Summand, Rational>;

// The summands of a value on a box or, if the box must be cut first, the pieces into which to cut
// it.
struct Family {
  Polynomial terms;
  std::vector<Box> pieces;  // if not empty, `terms` is empty: read each piece instead
};

// Derives polynomials from definitions (polynomial_reader.cc). It caches definitions and numbers
// the leaves, so only polynomials from the same reader can be compared.
class PolynomialReader {
 public:
  PolynomialReader();
  ~PolynomialReader();

  // The elements of `value` in `box`, which must lie inside the value's shape. Leaves are inputs,
  // weights and non-uniform constants, all with arbitrary values; a uniform constant (all its
  // elements are equal) is a coefficient. Unimplemented, naming the operator, if an element is not
  // a polynomial; ResourceExhausted if a constant has no valid Rational or there are more than a
  // million summands. A coefficient that overflows later is invalid in the result; Compare reports
  // it.
  absl::StatusOr<Family> Read(const Value& value, const Box& box);

  // The number that TermRead::leaf has for `leaf`; -1 if `leaf` was not read yet.
  int NumberOf(const Value& leaf) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

enum class PolynomialDifference {
  kNone,        // equal for all positions of the box and all values of the leaves
  kEverywhere,  // different, as polynomials, at every position
  kOpen,        // undecided; never for a box of one position
};
// Compares two families on one box, both from the same reader. Expands summands of a - b axis by
// axis until they cancel, show a difference at every position, or are single products. *left is the
// number of products that may still be expanded; Compare lowers it. ResourceExhausted if *left is
// too small or a coefficient does not fit.
absl::StatusOr<PolynomialDifference> Compare(const Polynomial& a, const Polynomial& b,
                                             const Box& box, int64_t* left);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_POLYNOMIAL_H_
