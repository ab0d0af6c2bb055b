// Arithmetic on index polynomials and their terms. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_POLY_H_
#define LEMMA_KERNELS_LOOPS_LOOP_POLY_H_

#include <functional>
#include <optional>
#include <vector>

#include "kernels/loops/loop_ir.h"

namespace lemma {
namespace loops {

Poly Constant(int64_t value);
Poly Add(const Poly& a, const Poly& b, int64_t scale = 1);  // a + scale * b
Poly Scale(const Poly& a, int64_t factor);
bool operator==(const Poly& a, const Poly& b);
int64_t CoefficientOf(const Poly& p, int term);

std::optional<Interval> Intersect(const std::optional<Interval>& a,
                                  const std::optional<Interval>& b);

// A polynomial with bounds of its value. They can be tighter than its terms imply, as for x - m *
// (x div m).
struct BoundedPoly {
  Poly poly;
  std::optional<Interval> bounds;
};

// Owns the terms of one nest. Equal terms are stored once.
class TermTable {
 public:
  // Variables come first, numbered from 0. Set a variable's extent before it is used.
  void AddVar(int64_t extent);
  void SetExtent(int var, int64_t extent);

  BoundedPoly Var(int var) const;  // a variable of extent 1 is 0
  BoundedPoly Load(int node, const Vars& deps);
  BoundedPoly Sum(const BoundedPoly& a, const BoundedPoly& b, int64_t scale = 1) const;
  BoundedPoly Product(const BoundedPoly& a, const BoundedPoly& b);
  BoundedPoly Div(const BoundedPoly& a, const BoundedPoly& b);
  BoundedPoly Mod(const BoundedPoly& a, const BoundedPoly& b);
  BoundedPoly Extreme(Term::Kind kind, const BoundedPoly& a, const BoundedPoly& b);

  std::optional<Interval> BoundsOf(const Poly& p) const;
  Vars DepsOf(const Poly& p) const;
  bool DataDependent(const Poly& p) const;

  std::vector<Term> Take() { return std::move(terms_); }

 private:
  // The polynomial of one term. Adds the term unless an equal one exists.
  BoundedPoly Intern(Term term);
  BoundedPoly DivConst(const BoundedPoly& a, int64_t m);

  std::vector<Term> terms_;
};

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_POLY_H_
