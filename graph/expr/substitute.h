// Substitution in expressions: of variables, tensors, symbols and parameters.
#ifndef LEMMA_GRAPH_EXPR_SUBSTITUTE_H_
#define LEMMA_GRAPH_EXPR_SUBSTITUTE_H_

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// Simultaneous replacement of index variables, tensors, symbols and parameters in expressions.
// Absent means unchanged. Subterms shared by pointer stay shared, and what construction folds
// (constants, decided guards) folds again.

struct ExprSubstitution {
  // Must not capture: no replacement mentions a variable that a Reduce in the expression binds.
  // Variables a Reduce binds may themselves be mapped, to plain variables: that renames them.
  absl::flat_hash_map<VarId, IndexExpr> vars;
  absl::flat_hash_map<std::string, IndexExpr> symbols;
  absl::flat_hash_map<std::string, ScalarExpr> params;
  // What a read of `tensor` at (already substituted) `indices` becomes; nullptr: stays a read.
  std::function<ScalarExpr(TensorId tensor, Idx indices)> read;
  // If set, every Reduce binds fresh variables, numbered from *fresh on.
  int* fresh = nullptr;
};

IndexExpr Substitute(const IndexExpr& e, const ExprSubstitution& substitution);
Guard Substitute(const Guard& g, const ExprSubstitution& substitution);
ScalarExpr Substitute(const ScalarExpr& e, const ExprSubstitution& substitution);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_SUBSTITUTE_H_
