// Computes the free index variables of expressions: those that no reduction inside them binds.
#ifndef LEMMA_GRAPH_EXPR_FREE_VARS_H_
#define LEMMA_GRAPH_EXPR_FREE_VARS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {

// Ascending, without duplicates.
using VarSet = std::vector<VarId>;

VarSet Union(const VarSet& a, const VarSet& b);
bool Contains(const VarSet& set, VarId var);

// Computes the free variables of any number of expressions and visits shared subterms once. The
// expressions must outlive the object. A returned reference is valid as long as the object.
class FreeVars {
 public:
  const VarSet& Of(const ScalarExpr& e);
  VarSet Of(const IndexExpr& e);
  VarSet Of(const Guard& g);

 private:
  VarSet Compute(const ScalarExpr& e);

  absl::flat_hash_map<const ScalarNode*, std::unique_ptr<VarSet>> memo_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_FREE_VARS_H_
