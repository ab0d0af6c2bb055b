// Affine integer expressions: base + sum of coefficient * variable.
#ifndef LEMMA_GRAPH_EXPR_AFFINE_H_
#define LEMMA_GRAPH_EXPR_AFFINE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graph/expr/index_expr.h"

namespace lemma {

// The caller chooses what a variable's number means: an index variable of a definition (as ToAffine
// does), a loop counter, or a subexpression that is not affine. Arithmetic wraps at 64 bits.
struct Affine {
  int64_t base = 0;
  // (variable, coefficient); variables ascend, and no coefficient is 0.
  absl::InlinedVector<std::pair<int, int64_t>, 3> terms;

  static Affine Of(int64_t constant);
  static Affine OfVar(int var);
  bool is_const() const { return terms.empty(); }
  int64_t CoefficientOf(int var) const;  // 0 if `var` does not occur

  friend bool operator==(const Affine& a, const Affine& b) {
    return a.base == b.base && a.terms == b.terms;
  }
};

Affine Sum(const Affine& a, const Affine& b, int64_t scale = 1);  // a + scale * b
Affine Scaled(const Affine& a, int64_t factor);

// `e` as an affine expression over its index variables (VarIds); nullopt if `e` contains a symbol,
// or an operation other than sums and products with constants.
std::optional<Affine> ToAffine(const IndexExpr& e);
// The inverse of ToAffine: variable numbers are VarIds.
IndexExpr ToIndexExpr(const Affine& a);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_AFFINE_H_
