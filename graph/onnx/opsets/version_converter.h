// Converts nodes of operator set 17 to other operator sets. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_OPSETS_VERSION_CONVERTER_H_
#define LEMMA_GRAPH_ONNX_OPSETS_VERSION_CONVERTER_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/onnx/opsets/schema.h"
#include "graph/tensor.h"

namespace lemma {

// The operator set of the nodes that OpDef::onnx_export emits.
constexpr int kExportOpset = 17;

// The model that the node is part of, as far as a conversion needs it.
struct ConversionContext {
  // By the name of a value. `constant`: its elements; nullptr if the value is not a constant.
  // `type`: its type; nullptr if the type is unknown.
  std::function<const Tensor*(const std::string&)> constant;
  std::function<const TensorType*(const std::string&)> type;
  std::function<std::string(Tensor)> new_constant;  // adds a constant, and returns its name
  std::function<std::string()> new_name;            // a new name for an intermediate value
};

struct ConvertedNode {
  std::vector<onnx::NodeProto> nodes;  // operands before users; empty if there is a problem
  std::string problem;                 // what the set lacks: "a computed axes"; "" if nothing
};

// Nodes of operator set `opset` that compute the same as `node` does in kExportOpset. `types` must
// hold the types of the inputs; the function adds the types of the outputs, unless `opset` is above
// LastKnownOpset().
ConvertedNode ConvertNode(int opset, onnx::NodeProto node, const ConversionContext& context,
                          ElementTypes* types);

// The smallest operator set in [opset, kExportOpset] to which ConvertNode converts the node; 0 if
// there is none.
int OpsetFor(int opset, const onnx::NodeProto& node, const ConversionContext& context,
             const ElementTypes& types);

// The first operator set in (from, to] in which the meaning or the signature of `op_type` of the
// default domain changes; 0 if there is none. Widened types do not count as a change.
int OpsetOfChange(absl::string_view op_type, int from, int to);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPSETS_VERSION_CONVERTER_H_
