// ONNX operators that work on names, subgraphs and lists of tensors rather than on elements: they
// are resolved at import. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_STRUCTURAL_H_
#define LEMMA_GRAPH_ONNX_STRUCTURAL_H_

#include <onnx/onnx_pb.h>

#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/importer.h"

namespace lemma {

using StructuralImporter = absl::StatusOr<std::vector<Result>> (*)(ModelImporter&,
                                                                   const onnx::NodeProto&,
                                                                   const Scope&);
// nullptr if `node` is not of that kind.
StructuralImporter FindStructural(const onnx::NodeProto& node, const Scope& scope);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_STRUCTURAL_H_
