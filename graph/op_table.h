// The table of all operators, and operators that files define.
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
// The operator of this name, of the table or of AddOperators; nullptr if there is none.
const OpDef* FindOp(absl::string_view name);

// Operators that files define (graph/define/operator_file.h), in the order of their addition.
std::vector<const OpDef*> DefinedOps();
// Adds operators to those that FindOp finds, for the rest of the process. An operator that is there
// with the same version stays. AlreadyExists, and nothing is added, if the name belongs to another
// operator. May be called from any thread.
absl::Status AddOperators(std::vector<OpDef> operators);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_TABLE_H_
