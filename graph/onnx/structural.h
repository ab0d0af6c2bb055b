// Imports ONNX operators that work on names, subgraphs and lists of tensors instead of elements.
// They are resolved at import. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_STRUCTURAL_H_
#define LEMMA_GRAPH_ONNX_STRUCTURAL_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/importer.h"

namespace lemma {

using StructuralImporter = absl::StatusOr<std::vector<Result>> (*)(ModelImporter&,
                                                                   const onnx::NodeProto&,
                                                                   const Scope&);
// The importer of `node`; nullptr if its operator is not structural.
StructuralImporter FindStructural(const onnx::NodeProto& node, const Scope& scope);

// Defined in flex_attention.cc.
absl::StatusOr<std::vector<Result>> ImportFlexAttention(ModelImporter& importer,
                                                        const onnx::NodeProto& node,
                                                        const Scope& scope);

// FindStructural for the operators on lists of tensors (sequences.cc).
StructuralImporter FindSequenceImporter(const onnx::NodeProto& node, const Scope& scope);

namespace structural {

// "unsupported: OP (reason)".
absl::Status Unsupported(const onnx::NodeProto& node, absl::string_view reason);
// The attribute of that name; nullptr if there is none or, for FindGraph, if it is no graph.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, absl::string_view name);
const onnx::GraphProto* FindGraph(const onnx::NodeProto& node, absl::string_view name);
int64_t IntAttribute(const onnx::NodeProto& node, absl::string_view name, int64_t fallback);
bool HasInput(const onnx::NodeProto& node, int i);
absl::StatusOr<Value> TensorInput(const onnx::NodeProto& node, const Scope& scope, int i);
// The values of input `i`; Unimplemented if they are not known.
absl::StatusOr<Tensor> KnownInput(ModelImporter& importer, const onnx::NodeProto& node,
                                  const Scope& scope, int i);

absl::StatusOr<Value> Reshape(ModelImporter& importer, const Value& x, Shape shape);
// Stack joins values along a new dimension `axis`; Unstack splits a value along it.
absl::StatusOr<Value> Stack(ModelImporter& importer, const std::vector<Value>& items, int64_t axis);
absl::StatusOr<std::vector<Value>> Unstack(ModelImporter& importer, const Value& x, int64_t axis);

// A scope for a subgraph of a node in `scope`; it sees the outer names. `scope` must outlive it.
Scope Inside(const Scope& scope);
void Bind(const std::string& name, const Result& result, Scope* scope);

}  // namespace structural

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_STRUCTURAL_H_
