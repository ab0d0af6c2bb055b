// Simplifies expressions, given the ranges of their index variables.
#ifndef LEMMA_GRAPH_EXPR_SIMPLIFY_H_
#define LEMMA_GRAPH_EXPR_SIMPLIFY_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/index_expr.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// Rewrites expressions to equal ones, given that every variable v satisfies 0 <= v < its extent.
// Where these ranges decide a quotient, remainder, minimum, maximum or guard, the simplifier
// replaces it by its value. It also drops branches that are never taken. A reduction sets the
// ranges of the variables that it binds, so two reductions must not bind the same variable.
// Subterms shared by pointer stay shared.
class Simplifier {
 public:
  // Sets the extent of a variable. Call it before Simplify, which caches its results. Extents that
  // are not constant are ignored.
  void SetExtent(VarId var, const IndexExpr& extent);

  IndexExpr Simplify(const IndexExpr& e);
  Guard Simplify(const Guard& g);
  ScalarExpr Simplify(const ScalarExpr& e);

  // Bounds of `e`; nullopt if they are unknown.
  std::optional<Interval> Bounds(const IndexExpr& e) const;

 private:
  IndexExpr SimplifyQuotient(const IndexExpr& a, int64_t m, bool quotient);
  Guard SimplifyComparison(const Guard& g);
  ScalarExpr Rebuild(const ScalarExpr& e);

  absl::flat_hash_map<VarId, int64_t> extents_;
  // Maps a node to its expression and the simplified expression.
  absl::flat_hash_map<const ScalarNode*, std::pair<ScalarExpr, ScalarExpr>> memo_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_SIMPLIFY_H_
