// Positions that are elements of tensors, as in gather and scatter.
#ifndef LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
#define LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Requires that input `input` is of an integer type.
absl::Status RequirePositions(OpContext& c, int input);

// `position`; a negative one counts from the end of an axis of `size` elements.
ScalarExpr Wrapped(const ScalarExpr& position, const IndexExpr& size);
// The same as an index. The executor checks that it is in range.
IndexExpr Position(const ScalarExpr& position, const IndexExpr& size);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
