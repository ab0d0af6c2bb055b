// Nodes that are carried through a graph unread. Internal to graph/onnx.
//
// The payload is an ONNX model of one node: it keeps the operator sets it was written for, and the
// model's functions that the node needs. Names in it are positions ("i0", "o1", "c0" for what
// subgraphs capture), so that equal nodes are equal bytes whatever their values are called. A node
// that may draw random numbers equals no other: its doc_string numbers it, in exported models too.
#ifndef LEMMA_GRAPH_ONNX_OPAQUE_H_
#define LEMMA_GRAPH_ONNX_OPAQUE_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

struct OpaqueNode {
  std::string payload;
  std::vector<std::string> inputs;   // names: present inputs, then captured values
  std::vector<std::string> outputs;  // names: present outputs
};
// By "domain:name".
using FunctionMap = absl::flat_hash_map<std::string, const onnx::FunctionProto*>;
// `mark`: the doc_string of the node in the payload; "" for none.
OpaqueNode PackOpaque(const onnx::NodeProto& node, const std::map<std::string, int>& opsets,
                      const FunctionMap& functions, const std::string& mark);

// Whether a tensor inside the node, or inside a function that it needs, lies in another file: two
// equal nodes may then mean different things.
bool ReadsFiles(const onnx::NodeProto& node, const FunctionMap& functions);

// Begins the doc_string of a node that may draw random numbers; a number follows.
constexpr char kDrawMark[] = "lemma: draw ";
// Whether the node, its subgraphs or functions have an operator that draws random numbers, or one
// of another domain, which may.
bool MayDraw(const onnx::NodeProto& node, const FunctionMap& functions);

struct UnpackedNode {
  onnx::NodeProto node;
  std::map<std::string, int> opsets;
  std::vector<onnx::FunctionProto> functions;  // of the model, that it needs
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
