// The table of all operators, and operators that files define. Implemented in graph/ops.
#ifndef LEMMA_GRAPH_OP_TABLE_H_
#define LEMMA_GRAPH_OP_TABLE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_def.h"

namespace lemma {

// The operators of the table, in the order of graph/ops/op_table.inc. The entries live as long as
// the program.
absl::Span<const OpDef* const> AllOps();
// The operator of this name, from the table or added by AddOperators; nullptr if there is none. The
// operator lives as long as the program.
const OpDef* FindOp(absl::string_view name);

// Operators that files define (graph/define/operator_file.h), in the order in which they were
// added.
std::vector<const OpDef*> DefinedOps();
// Lets FindOp find these operators too, until the process ends. Skips an operator that was added
// before with the same version. AlreadyExists if a name belongs to another operator, or if two
// added operators are imported from the same ONNX operator; then none of `operators` is added. May
// be called from any thread.
absl::Status AddOperators(std::vector<OpDef> operators);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_TABLE_H_
