// Finds the order in which an ONNX graph's nodes are imported. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_NODE_ORDER_H_
#define LEMMA_GRAPH_ONNX_NODE_ORDER_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// "node 'conv1' (Conv)", or "node of 'y' (Conv)" if it has no name.
std::string Describe(const onnx::NodeProto& node);

// Names that `graph` uses but does not define, each once, in order of use.
std::vector<std::string> CapturedNames(const onnx::GraphProto& graph);
// The node's inputs that are not left out, then the names that its subgraphs capture.
std::vector<std::string> NamesRead(const onnx::NodeProto& node);

struct NodeOrder {
  std::vector<int> nodes;  // positions of the nodes that the outputs need, operands before users
  std::vector<std::string> used;  // sorted: the outputs and the names that these nodes read
};
// Orders the nodes that `outputs` need. Keeps the order of `nodes` where possible.
// `given` tells whether a name has a value without a node: an input, an initializer or a name of an
// outer graph. InvalidArgument, with the node's or output's name, for a cycle, an undefined name,
// or a name defined twice.
absl::StatusOr<NodeOrder> OrderNodes(const NodeList& nodes,
                                     const std::function<bool(const std::string&)>& given,
                                     const std::vector<std::string>& outputs);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_NODE_ORDER_H_
