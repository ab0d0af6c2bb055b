// Converts nodes of operator set 17, in which operators are exported, to other operator sets.
// Internal to graph/onnx.
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

// The operator set in which operators say how they are exported.
constexpr int kExportOpset = 17;

// The model that the node is part of, as far as a conversion needs it.
struct ConversionContext {
  std::function<const Tensor*(const std::string&)> constant;  // by name; nullptr: no constant
  std::function<const TensorType*(const std::string&)> type;  // by name; nullptr: not known
  std::function<std::string(Tensor)> new_constant;            // its name
  std::function<std::string()> new_name;                      // of an intermediate value
};

struct ConvertedNode {
  std::vector<onnx::NodeProto> nodes;  // empty if the set does not have the node
  std::string problem;                 // why it does not
};

// The nodes that mean in operator set `opset` what `node` means in kExportOpset. `types` gets the
// types of their outputs, unless `opset` is above LastKnownOpset().
ConvertedNode ConvertNode(int opset, onnx::NodeProto node, const ConversionContext& context,
                          ElementTypes* types);

// The smallest operator set from `opset` on that has the node; 0 if there is none up to
// kExportOpset.
int OpsetFor(int opset, const onnx::NodeProto& node, const ConversionContext& context,
             const ElementTypes& types);

// The first operator set in (from, to] in which the meaning or the signature of `op_type` of the
// default domain changes; 0 if there is none. Widened types do not count as a change.
int OpsetOfChange(absl::string_view op_type, int from, int to);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPSETS_VERSION_CONVERTER_H_
