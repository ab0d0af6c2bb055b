// Index expressions as linear functions of one variable.
#ifndef LEMMA_GRAPH_DEFINE_LINEAR_H_
#define LEMMA_GRAPH_DEFINE_LINEAR_H_

#include <optional>

#include "graph/expr/index_expr.h"

namespace lemma::define {

// factor * v + rest, where neither mentions v.
struct Linear {
  IndexExpr factor, rest;
};

// `e` as a linear function of the variable `var`; nullopt if it is none, or is not seen to be one.
// A variable that does not occur has the factor 0.
std::optional<Linear> LinearIn(const IndexExpr& e, VarId var);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_LINEAR_H_
