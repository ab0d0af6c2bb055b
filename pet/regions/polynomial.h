// Elements of a graph as polynomials in the elements of its leaves, for a whole box of positions at
// once.
//
// At constant shapes every element of a graph of sums, products and layout operators is a
// polynomial. Over a box on which no guard and no digit of an index changes its course the
// polynomials of all positions are one family:
//
//   element(v) = sum of terms;  term(v) = coefficient * sum(r < extents) product of reads,
//   read(v, r) = leaf[base + outer . v + inner . r]        (row-major positions)
//
// which is read off the operators' definitions. Two such families are equal on the box if their
// terms cancel. Nothing here knows an operator.
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

// An exact coefficient. What does not fit into 64 bits becomes invalid and stays so.
struct Rational {
  int64_t numerator = 0, denominator = 1;  // reduced, denominator > 0; 0: invalid

  static Rational Of(int64_t value) { return {value, 1}; }
  // Invalid if not finite, too large or too fine.
  static Rational OfDouble(double value);
  bool valid() const { return denominator > 0; }
  bool is_zero() const { return valid() && numerator == 0; }
  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  Rational Inverse() const;  // of 0: invalid
  friend Rational operator-(const Rational& a) { return a * Of(-1); }
};

struct TermRead {
  int leaf = 0;
  int64_t base = 0;
  std::vector<int64_t> outer;  // by dimension of the box, per step of its ranges
  std::vector<int64_t> inner;  // by axis of the term
};
// In a normal form: reads and axes sorted, no axis that nothing depends on, axes that run on in
// each other merged. Equal terms are equal families; the converse need not hold.
struct PolyTerm {
  std::vector<int64_t> extents;
  std::vector<TermRead> reads;
  friend bool operator<(const PolyTerm& a, const PolyTerm& b);
};
using Polynomial = std::map<PolyTerm, Rational>;

// A box has to be cut first: the pieces.
struct Family {
  Polynomial terms;
  std::vector<Box> pieces;  // not empty: there are no terms
};

// Reads elements of values off the definitions; remembers definitions and numbers leaves, so
// polynomials of one reader can be compared.
class PolynomialReader {
 public:
  PolynomialReader();
  ~PolynomialReader();

  // The elements of `value` in `box`, whose ranges lie inside its shape. Leaves are inputs, weights
  // (of whatever values) and constants of several values; a constant of one value is a
  // coefficient. Unimplemented, which names the operator, if an element is no polynomial;
  // ResourceExhausted if a coefficient does not fit or there are more than a million terms.
  absl::StatusOr<Family> Read(const Value& value, const Box& box);

  // The number of a leaf in TermRead; -1 if it was not met yet.
  int NumberOf(const Value& leaf) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// a - b: empty if they are equal families. Terms that are left are expanded, axis by axis, until
// they cancel or are single products.
enum class PolynomialDifference {
  kNone,        // equal for all positions of the box and all values of the leaves
  kEverywhere,  // different, as polynomials, at every position
  kOpen,        // neither was seen; never at a single position
};
// Takes the products that are written out from *left; ResourceExhausted if these are too few.
absl::StatusOr<PolynomialDifference> Compare(const Polynomial& a, const Polynomial& b,
                                             const Box& box, int64_t* left);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_POLYNOMIAL_H_
