// Turns elements of tensors into positions along an axis, as in gather and scatter.
#ifndef LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
#define LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_

#include "absl/status/status.h"
#include "graph/op_def.h"

namespace lemma::ops {

// Requires that input number `input` is of an integer type.
absl::Status RequirePositions(OpContext& c, int input);

// `position`, or position + size if `position` is negative: a negative position counts from the end
// of an axis of `size` elements. The result may still be out of range.
ScalarExpr Wrapped(const ScalarExpr& position, const IndexExpr& size);
// Wrapped() as an index expression. The executor checks at run time that the position is in range.
IndexExpr Position(const ScalarExpr& position, const IndexExpr& size);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_INDEXING_POSITIONS_H_
