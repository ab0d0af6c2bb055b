// Integer sums base + sum of coefficient * variable.
#ifndef LEMMA_GRAPH_EXPR_AFFINE_H_
#define LEMMA_GRAPH_EXPR_AFFINE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graph/expr/index_expr.h"

namespace lemma {

// Variables are numbered by whoever makes the sum: index variables of a definition, counters of
// ranges, or subexpressions that are not sums themselves. Arithmetic wraps at 64 bits.
struct Affine {
  int64_t base = 0;
  absl::InlinedVector<std::pair<int, int64_t>, 3> terms;  // variables ascend; no zeros

  static Affine Of(int64_t constant);
  static Affine OfVar(int var);
  bool is_const() const { return terms.empty(); }
  int64_t CoefficientOf(int var) const;

  friend bool operator==(const Affine& a, const Affine& b) {
    return a.base == b.base && a.terms == b.terms;
  }
};

Affine Sum(const Affine& a, const Affine& b, int64_t scale = 1);  // a + scale * b
Affine Scaled(const Affine& a, int64_t factor);

// `e` over its index variables; nullopt if it has another form.
std::optional<Affine> ToAffine(const IndexExpr& e);
IndexExpr ToIndexExpr(const Affine& a);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_AFFINE_H_
