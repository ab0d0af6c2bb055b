// The table of all operators.
#ifndef LEMMA_GRAPH_OP_TABLE_H_
#define LEMMA_GRAPH_OP_TABLE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_def.h"

namespace lemma {

// All operators, in the order of graph/ops/op_table.inc. The entries live as long as the program.
absl::Span<const OpDef* const> AllOps();
// nullptr if no operator has this name.
const OpDef* FindOp(absl::string_view name);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_TABLE_H_
