// Defines facts about integer sizes and indices: polynomials (Poly in graph/expr/polynomial.h)
// compared with 0. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_FACT_H_
#define LEMMA_VERIFIER_ARITHMETIC_FACT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/expr/polynomial.h"

namespace lemma::prover {

struct Fact {
  enum class Kind { kGe, kEq, kNe };  // p >= 0, p = 0, p != 0
  Kind kind = Kind::kGe;
  Poly p;

  static Fact Ge(Poly p) { return {Kind::kGe, std::move(p)}; }
  static Fact Eq(Poly p) { return {Kind::kEq, std::move(p)}; }
  friend bool operator==(const Fact& a, const Fact& b) { return a.kind == b.kind && a.p == b.p; }
  friend bool operator<(const Fact& a, const Fact& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.p < b.p;
  }
};
using Facts = std::vector<Fact>;

// a / b rounded down; b must not be 0.
int64_t FloorDivide(int64_t a, int64_t b);

// The fact that is true exactly where `fact` is false.
Fact Negation(const Fact& fact);
// An equivalent fact. The coefficients are divided by their greatest common divisor, and a bound is
// rounded to an integer: 2x >= 1 becomes x >= 1. Equations and inequations (!=) get a canonical
// sign.
Fact Normalized(const Fact& fact);

// Equal for equal facts in the same order. For hash tables only.
uint64_t HashOf(const Facts& facts);

// Lower bounds of leaves, taken from the facts about a single leaf: leaf + c >= 0 and
// d * leaf + c = 0. The facts should be Normalized: 2x >= 2 gives no bound.
class LowerBounds {
 public:
  explicit LowerBounds(const Facts& facts);
  // Whether the bound of `leaf` is at least `least`.
  bool AtLeast(Leaf leaf, int64_t least) const {
    const int64_t* low = Find(leaf);
    return low != nullptr && *low >= least;
  }
  // Tries to show p >= 0: writes each leaf as its lower bound plus a nonnegative rest, and checks
  // that then no coefficient is negative. False means only that this failed.
  bool ShowNonNegative(const Poly& p) const;
  // Tries to show p >= 0 by writing p as a sum of multiples of `facts` and a rest that
  // ShowNonNegative accepts. For example, n * x - n * y is n times the fact x - y >= 0 if n >= 0.
  // Only equations may be multiplied by leaves that may be negative. Tries only a few sums. False
  // means only that this failed.
  bool ShowSum(const Facts& facts, const Poly& p) const;

 private:
  bool ShowSum(const Facts& facts, const Poly& p, int depth, int* budget) const;

  // nullptr if `leaf` has no bound.
  const int64_t* Find(Leaf leaf) const;

  std::vector<std::pair<Leaf, int64_t>> low_;  // sorted
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_FACT_H_
