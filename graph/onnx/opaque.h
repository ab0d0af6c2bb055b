// Nodes that are carried through a graph unread. Internal to graph/onnx.
//
// The payload is an ONNX model of one node: it keeps the operator sets it was written for. Names in
// it are positions ("i0", "o1", "c0" for what subgraphs capture), so that equal nodes are equal
// bytes whatever their values are called.
#ifndef LEMMA_GRAPH_ONNX_OPAQUE_H_
#define LEMMA_GRAPH_ONNX_OPAQUE_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

struct OpaqueNode {
  std::string payload;
  std::vector<std::string> inputs;   // names: present inputs, then captured values
  std::vector<std::string> outputs;  // names: present outputs
};
OpaqueNode PackOpaque(const onnx::NodeProto& node, const std::map<std::string, int>& opsets);

struct UnpackedNode {
  onnx::NodeProto node;
  std::map<std::string, int> opsets;
};
// The node with its values' names in the new model. `fresh` makes a name unused so far, for what
// subgraphs define.
absl::StatusOr<UnpackedNode> UnpackOpaque(
    absl::string_view payload, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs,
    const std::function<std::string(const std::string&)>& fresh);

// The first operator set in (from, to] in which `op_type` of the default domain means something
// else than before; 0 if there is none. Widened types are no change.
int OpsetOfChange(absl::string_view op_type, int from, int to);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPAQUE_H_
