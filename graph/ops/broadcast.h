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

// Whether `dim` is the constant 1, so that its only element repeats along a larger axis. A symbol
// never repeats: it must equal the other size. So a rule over symbols covers one broadcasting form.
bool Repeats(const IndexExpr& dim);

// The shape that all of `shapes` broadcast to, aligned at the right. Sizes not known to be equal
// become a requirement of the application. Sizes known to differ are an error.
absl::StatusOr<Idx> BroadcastDims(OpContext& c, absl::Span<const Idx> shapes);
// The same for the shapes of all inputs.
absl::StatusOr<Idx> BroadcastDims(OpContext& c);

// The index in a tensor of shape `dims` that is read for element `out` of the broadcast shape.
// `out` may have more dimensions than `dims`; the last ones count.
Idx BroadcastIndex(const Idx& dims, const Idx& out);

// The same rule for concrete shapes in an importer; nullopt if they do not broadcast.
std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_BROADCAST_H_
