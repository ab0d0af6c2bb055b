// The order in which an ONNX graph's nodes can be imported. Internal to graph/onnx.
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

// Names that `graph` uses and does not define, each once, in the order of use.
std::vector<std::string> CapturedNames(const onnx::GraphProto& graph);
// The node's inputs, absent ones left out, then what its subgraphs capture.
std::vector<std::string> NamesRead(const onnx::NodeProto& node);

struct NodeOrder {
  std::vector<int> nodes;  // operands before users; those `outputs` do not depend on are left out
  std::vector<std::string> used;  // sorted: names that those nodes read, and `outputs`
};
// `given` tells the names known without any node. The given order of nodes is kept where it can be.
// InvalidArgument, naming a node, for a cycle, a name that nothing defines, or one defined twice.
absl::StatusOr<NodeOrder> OrderNodes(const NodeList& nodes,
                                     const std::function<bool(const std::string&)>& given,
                                     const std::vector<std::string>& outputs);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_NODE_ORDER_H_
