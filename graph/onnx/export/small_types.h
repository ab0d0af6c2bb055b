// Export of operators on integers of 4 and 2 bits and on floats of 8 and 4 bits. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_

#include "absl/status/status.h"
#include "graph/dtype.h"
#include "graph/graph.h"
#include "graph/onnx_conversion.h"

namespace lemma {

// The operator set from which on ONNX has the element type, and 1 for the types of the first sets.
int OpsetOfType(DType dtype);

// The operator set from which on ONNX has the node's operator for its element types, if that is
// later than the one with the types; otherwise 1.
int OpsetOfOperator(const Node& node);

// Whether the node has operands or results of types for which ONNX lacks the operator: of small
// types, it has only casts and a few operators that move elements.
bool NeedsWiderTypes(const Node& node);
// Writes the node with i8, u8 or f32 in place of small types, with casts before and after it.
absl::Status ExportInWiderTypes(OnnxExport& out);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_SMALL_TYPES_H_
