// Substitutes variables, tensors, symbols and parameters in expressions.
#ifndef LEMMA_GRAPH_EXPR_SUBSTITUTE_H_
#define LEMMA_GRAPH_EXPR_SUBSTITUTE_H_

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// Replacements that are all made at once: they are not applied to each other's results. A variable,
// symbol or parameter without an entry stays unchanged. Scalar subterms shared by pointer stay
// shared. Arithmetic on constants, and guards that become true or false, are folded; a Reduce whose
// guard becomes false stays a Reduce.
struct ExprSubstitution {
  // No replacement may mention a variable that a Reduce in the expression binds (no capture). A
  // variable that a Reduce binds may be mapped only to another variable, which renames it.
  absl::flat_hash_map<VarId, IndexExpr> vars;
  absl::flat_hash_map<std::string, IndexExpr> symbols;
  absl::flat_hash_map<std::string, ScalarExpr> params;
  // Gives the replacement of a read of `tensor`, for any tensor that the expression reads. The
  // `indices` are already substituted. If this member is empty, every read keeps its tensor, with
  // substituted indices.
  std::function<ScalarExpr(TensorId tensor, Idx indices)> read;
  // If set, every Reduce binds fresh variables, numbered from *fresh on; *fresh is increased by
  // their number.
  int* fresh = nullptr;
};

IndexExpr Substitute(const IndexExpr& e, const ExprSubstitution& substitution);
Guard Substitute(const Guard& g, const ExprSubstitution& substitution);
ScalarExpr Substitute(const ScalarExpr& e, const ExprSubstitution& substitution);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_SUBSTITUTE_H_
