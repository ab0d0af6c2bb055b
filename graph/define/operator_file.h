// Reads the operators that a text file defines, and derives the operators for their gradients.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace lemma {

// The operators that `text` defines (graph/define/operator_syntax.h), in order.
// Each operator is followed by the operators that compute its gradients:
// NAME.grad_X for each input X for which Adjoint (graph/define/adjoint.h) gives
// a gradient. If Adjoint fails for an input, the operator has no gradients, and
// OpDef::doc says why. Checks each definition with symbols as sizes, for one
// length of each list of sizes: 1 for the first list, 2 for the second one, and
// so on. Other lengths are checked when an application is made.
// InvalidArgument, with "file:line:column: ", for errors in the text; `file` is
// the name of the text in these messages.
absl::StatusOr<std::vector<OpDef>> ReadOperators(absl::string_view text, absl::string_view file);

// Reads the operators and adds them to the operators that the process knows
// (AddOperators in graph/op_table.h). Returns the names of the operators,
// without the operators for gradients. InvalidArgument as in ReadOperators,
// and, with the name of the text, if the operators cannot be added.
absl::StatusOr<std::vector<std::string>> DefineOperators(absl::string_view text,
                                                         absl::string_view file);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_
