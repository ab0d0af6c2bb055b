// Names of the scalar functions in operator definitions.
#ifndef LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_
#define LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/expr/scalar_expr.h"

namespace lemma::define {

// "+", "-" (of two numbers), "*", "/", or the name of a function of scalar_functions.inc. nullopt
// for other names. Functions that stand for an element type's rounding have no name here.
std::optional<ScalarFn> FunctionOf(absl::string_view name);
// The names, in the order of the table: "min, max, abs, …".
std::string FunctionNames();

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_
