// Numpy broadcasting for constant and symbolic sizes.
#ifndef LEMMA_GRAPH_OPS_BROADCAST_H_
#define LEMMA_GRAPH_OPS_BROADCAST_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/op_def.h"
#include "graph/tensor.h"

namespace lemma::ops {

// Whether `dim` is the constant 1, so that its only element repeats along a larger axis. A symbolic
// size never repeats: it must equal the other size. So a rule with symbolic sizes fixes which
// dimensions repeat.
bool Repeats(const IndexExpr& dim);

// The shape that all of `shapes` broadcast to, aligned at the right. If it is undecided whether two
// sizes are equal, their equality becomes a requirement of the application. InvalidArgument if they
// are known to differ.
absl::StatusOr<Idx> BroadcastDims(OpContext& c, absl::Span<const Idx> shapes);
// The shape that all inputs of the operator broadcast to.
absl::StatusOr<Idx> BroadcastDims(OpContext& c);

// The index in a tensor of shape `dims` that is read for element `out` of the broadcast shape.
// If `out` has more dimensions than `dims`, the last dimensions of `out` are used.
Idx BroadcastIndex(const Idx& dims, const Idx& out);

// The shape that `a` and `b` broadcast to; nullopt if there is none. For importers. A symbolic size
// counts as a size other than 1.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_BROADCAST_H_
