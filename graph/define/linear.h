// Writes index expressions as linear functions of one variable.
#ifndef LEMMA_GRAPH_DEFINE_LINEAR_H_
#define LEMMA_GRAPH_DEFINE_LINEAR_H_

#include <optional>

#include "graph/expr/index_expr.h"

namespace lemma::define {

// factor * v + rest, where neither `factor` nor `rest` mentions the variable v.
struct Linear {
  IndexExpr factor, rest;
};

// `e` as a linear function of the variable `var`. nullopt if `e` is not linear
// in `var`, or if LinearIn does not see that `e` is linear. The factor is 0 if
// `var` does not occur in `e`.
std::optional<Linear> LinearIn(const IndexExpr& e, VarId var);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_LINEAR_H_
