// Renames bound variables before lowering. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
#define LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_

#include "graph/expr/scalar_expr.h"

namespace lemma {
namespace loops {

// `e` with one binder per variable. Each reduction object occurs under one set of guards only, so a
// reduction may be simplified under the assumption that its guards hold. All other shared subterms
// stay shared. No variable of `e` may be bound inside its own scope. New variables are numbered
// from 2^28 on.
ScalarExpr SeparateScopes(const ScalarExpr& e);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_SEPARATE_SCOPES_H_
