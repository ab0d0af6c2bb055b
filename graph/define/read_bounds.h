// When an index lies inside a tensor.
#ifndef LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_
#define LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_

#include <vector>

#include "graph/expr/index_expr.h"
#include "graph/expr/scalar_expr.h"

namespace lemma::define {

// What is known where an element is read.
struct Scope {
  std::vector<Axis> axes;         // variables in scope; an extent uses earlier ones only
  std::vector<Guard> conditions;  // that hold there, and those on sizes
};

// A condition on sizes under which 0 <= index < dim for all values of the variables in scope that
// meet the conditions: true if that is always so, false if it is not, or is not seen. The condition
// may be stronger than needed.
Guard Inside(const IndexExpr& index, const IndexExpr& dim, const Scope& scope);
// The same for 0 <= e.
Guard NonNegative(const IndexExpr& e, const Scope& scope);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_READ_BOUNDS_H_
