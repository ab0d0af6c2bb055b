// Finds conditions on sizes under which an index lies inside a tensor.
#ifndef LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_
#define LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_

#include <vector>

#include "graph/expr/index_expr.h"
#include "graph/expr/scalar_expr.h"

namespace lemma::define {

// The facts that are known at the place where an element is read.
struct Scope {
  std::vector<Axis> axes;         // variables in scope; an extent uses only earlier variables
  std::vector<Guard> conditions;  // what is known of variables and sizes here
};

// A condition on sizes that implies 0 <= index < dim for all values of the
// variables in scope that meet the scope's conditions. It may be stronger than
// needed. The result `true` means that 0 <= index < dim is known to hold for
// all sizes. The result `false` means that no condition was found.
Guard Inside(const IndexExpr& index, const IndexExpr& dim, const Scope& scope);
// Like Inside, for the statement 0 <= e.
Guard NonNegative(const IndexExpr& e, const Scope& scope);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_
