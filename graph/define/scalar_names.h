// Finds scalar functions by the names that they have in operator definitions.
#ifndef LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_
#define LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/expr/scalar_expr.h"

namespace lemma::define {

// The function called `name`: "+", "-" (of two numbers), "*", "/", or a function's name in
// graph/expr/scalar_functions.inc. nullopt for other names, and for the functions that round to an
// element type (stored_f32, …).
std::optional<ScalarFn> FunctionOf(absl::string_view name);
// The functions' names in scalar_functions.inc that FunctionOf knows, in the order of that table:
// "add, sub, mul, …".
std::string FunctionNames();

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_SCALAR_NAMES_H_
