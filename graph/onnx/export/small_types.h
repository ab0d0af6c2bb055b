// Exports operators on small types: integers of 4 and 2 bits, and floats of 8
// and 4 bits. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_

#include "absl/status/status.h"
#include "graph/dtype.h"
#include "graph/graph.h"
#include "graph/onnx_conversion.h"

namespace lemma {

// The operator set from which on ONNX has the element type, if it is a small type; otherwise 1.
int OpsetOfType(DType dtype);

// The operator set from which on ONNX's operator for `node` takes small types:
// 21 for a transpose of small floats, 1 for all other nodes. The element type
// itself may need a later operator set (OpsetOfType).
int OpsetOfOperator(const Node& node);

// Whether the node has operands or results of small types and is no cast, reshape or transpose. The
// export writes only these three operators on small types.
bool NeedsWiderTypes(const Node& node);
// Writes the node with i8, u8 or f32 in place of small types, with casts before
// and after it. Unimplemented if the operator, applied to these types, does not
// give such a wider type for each result of a small type.
absl::Status ExportInWiderTypes(OnnxExport& out);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_
