// Imports the *structural* operators of ONNX: they work on names, subgraphs and lists of tensors
// instead of elements. The import resolves them, so they do not become operators of the graph.
// Internal to graph/onnx.
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

// Imports FlexAttention (of the domain ai.onnx.preview), which is defined in flex_attention.cc.
absl::StatusOr<std::vector<Result>> ImportFlexAttention(ModelImporter& importer,
                                                        const onnx::NodeProto& node,
                                                        const Scope& scope);

// Whether `node` is one of these: a Loop whose limit on the number of iterations is above 1024 or
// not known, a Loop whose first condition is not known, or a Scan whose length is symbolic or above
// 1024. Such a loop is not unrolled, with one exception: a Loop whose condition is known to end it
// after at most 1024 iterations.
bool IsLongLoop(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope);

// FindStructural for the operators on lists of tensors (sequences.cc).
StructuralImporter FindSequenceImporter(const onnx::NodeProto& node, const Scope& scope);

namespace structural {

// Unimplemented: "unsupported: OP (reason)".
absl::Status Unsupported(const onnx::NodeProto& node, absl::string_view reason);
// The attribute `name` of the node, owned by the node; nullptr if there is none. FindGraph returns
// its graph; nullptr also if the attribute is not a graph.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, absl::string_view name);
const onnx::GraphProto* FindGraph(const onnx::NodeProto& node, absl::string_view name);
// The value of the attribute `name`, or `fallback` if the node does not have the attribute.
int64_t IntAttribute(const onnx::NodeProto& node, absl::string_view name, int64_t fallback);
// False if the optional input `i` is absent.
bool HasInput(const onnx::NodeProto& node, int i);
// Input `i`; InvalidArgument if it is absent or a list.
absl::StatusOr<Value> TensorInput(const onnx::NodeProto& node, const Scope& scope, int i);
// The values of input `i`; InvalidArgument as for TensorInput, Unimplemented if they are not known.
absl::StatusOr<Tensor> KnownInput(ModelImporter& importer, const onnx::NodeProto& node,
                                  const Scope& scope, int i);

absl::StatusOr<Value> Reshape(ModelImporter& importer, const Value& x, Shape shape);
// Stack joins values along a new dimension `axis`; Unstack splits a value along `axis` and removes
// that dimension. A negative axis counts from the end. InvalidArgument if it is out of range, or if
// there is nothing to stack.
absl::StatusOr<Value> Stack(ModelImporter& importer, const std::vector<Value>& items, int64_t axis);
absl::StatusOr<std::vector<Value>> Unstack(ModelImporter& importer, const Value& x, int64_t axis);

// A new scope for a subgraph of a node in `scope`. It sees the names of `scope`, which must outlive
// it.
Scope Inside(const Scope& scope);
// Binds `name` in *scope to `result`, which is a value or a list.
void Bind(const std::string& name, const Result& result, Scope* scope);

}  // namespace structural

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_STRUCTURAL_H_
