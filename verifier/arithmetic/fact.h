// Facts about sizes and indices. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_FACT_H_
#define LEMMA_VERIFIER_ARITHMETIC_FACT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "verifier/arithmetic/poly.h"

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

Fact Negation(const Fact& fact);
// Divides by the content (rounding bounds), gives equalities a sign.
Fact Normalized(const Fact& fact);

// Equal for equal facts in one order; for tables only.
uint64_t HashOf(const Facts& facts);

// Lower bounds of leaves, from facts that are bounds of one leaf.
class LowerBounds {
 public:
  explicit LowerBounds(const Facts& facts);
  bool AtLeast(Leaf leaf, int64_t least) const {
    const int64_t* low = Find(leaf);
    return low != nullptr && *low >= least;
  }
  // p >= 0 since all coefficients are, once each leaf is written as its lower bound plus something.
  bool ShowNonNegative(const Poly& p) const;
  // p >= 0 since it is a sum of `facts`, each times leaves that are not negative (any leaves, if
  // the fact is an equation), and of something that is not negative by these bounds. Tries few.
  bool ShowSum(const Facts& facts, const Poly& p) const;

 private:
  bool ShowSum(const Facts& facts, const Poly& p, int depth, int* budget) const;

  // nullptr if there is none.
  const int64_t* Find(Leaf leaf) const;

  std::vector<std::pair<Leaf, int64_t>> low_;  // sorted
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_FACT_H_
