// Renames bound variables before lowering. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
#define LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_

#include "graph/expr/scalar_expr.h"

namespace lemma {
namespace loops {

// Returns `e` with a new variable for each axis of each reduction. The new variables are numbered
// from 2^28 on. A subterm that first occurs under a guard is shared only under this guard, so that
// a reduction may be simplified under the guards of its first occurrence. A subterm that contains a
// variable of a reduction is shared only inside this reduction. All other shared subterms stay
// shared. No variable of `e` may be bound again inside its own scope.
ScalarExpr SeparateScopes(const ScalarExpr& e);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
