// Operators that a text file defines.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace lemma {

// The operators that `text` defines (graph/define/operator_syntax.h), in order, each followed by
// the operators that compute its gradients: NAME.grad_X for an input x of a float type. The text is
// read completely, for sizes that are symbols, so errors in it show here. An operator without a
// gradient says why in its `doc`. InvalidArgument, with
// "file:line:column: ", for errors in the text; `file` is its name.
absl::StatusOr<std::vector<OpDef>> ReadOperators(absl::string_view text, absl::string_view file);

// Reads the operators and adds them to those that the process knows (AddOperators in
// graph/op_table.h). Returns their names, without those of gradients.
absl::StatusOr<std::vector<std::string>> DefineOperators(absl::string_view text,
                                                         absl::string_view file);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_FILE_H_
