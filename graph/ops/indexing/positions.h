// Positions that tensors hold.
#ifndef LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
#define LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Input `input` holds integers.
absl::Status RequirePositions(OpContext& c, int input);

// `position`, counted from the end of an axis of `size` elements if it is negative.
ScalarExpr Wrapped(const ScalarExpr& position, const IndexExpr& size);
// The same as an index, which whoever executes it checks.
IndexExpr Position(const ScalarExpr& position, const IndexExpr& size);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
