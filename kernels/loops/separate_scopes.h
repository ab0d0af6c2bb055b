// Renaming of bound variables before lowering. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
#define LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_

#include "graph/expr/scalar_expr.h"

namespace lemma {
namespace loops {

// `e` with every variable bound by one reduction, and every reduction (by pointer) in one branch of
// guards only: what holds where it is evaluated can be assumed inside it. Otherwise what was
// shared stays shared. No variable of `e` may be bound inside its own scope. New variables are
// numbered from 2^28 on.
ScalarExpr SeparateScopes(const ScalarExpr& e);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
