// Packs ONNX nodes that Lemma does not interpret into opaque operators, and unpacks them at export.
// Internal to graph/onnx.
//
// The payload is a serialized ONNX model of one node. The model keeps the operator sets of the
// domains that the node and its subgraphs use, and the functions that the node needs. Each name of
// a value is replaced by a letter and a number: "i0" is an input, "o1" an output, "c2" a value that
// a subgraph captures, "l3" a value inside a subgraph. So equal nodes give equal bytes, even if
// their values have different names. A node that may draw random numbers equals no other node: a
// number in its doc_string identifies it, in exported models too.
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

class TensorFiles;  // convert.h

struct OpaqueNode {
  std::string payload;               // see above
  std::vector<std::string> inputs;   // names of the present inputs, then of captured values
  std::vector<std::string> outputs;  // names of the present outputs
};
// A model's functions by "domain:name"; the default domain is "".
using FunctionMap = absl::flat_hash_map<std::string, const onnx::FunctionProto*>;
// Packs the node. `opsets`: the model's operator sets by domain. `mark`: the doc_string of the node
// in the payload; "" for none.
OpaqueNode PackOpaque(const onnx::NodeProto& node, const std::map<std::string, int>& opsets,
                      const FunctionMap& functions, const std::string& mark);

// Whether the values of a tensor in the node, or in a function that it needs, lie in another file.
// Then nodes with equal payloads may compute different results.
bool ReadsFiles(const onnx::NodeProto& node, const FunctionMap& functions);

// Reads the values of tensors that lie in other files, and puts them into the node and its
// subgraphs.
absl::Status EmbedFiles(onnx::NodeProto* node, TensorFiles* files);

// Prefix of the doc_string of a node that may draw random numbers; a number follows.
constexpr char kDrawMark[] = "lemma: draw ";
// Whether the node, its subgraphs or the functions that it calls contain an operator that draws
// random numbers, or an operator outside ONNX's default domain that the model does not define as a
// function.
bool MayDraw(const onnx::NodeProto& node, const FunctionMap& functions);

// Calls `visit` for the node and the nodes in its subgraphs.
void VisitSubnodes(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit);
// The functions that the node or its subgraphs call, directly or through other functions.
std::vector<const onnx::FunctionProto*> FunctionsCalled(const onnx::NodeProto& node,
                                                        const FunctionMap& functions);
// Replaces names of values in the node's subgraphs: each key of `names` by its value.
void RenameInSubgraphs(onnx::NodeProto* node, const std::map<std::string, std::string>& names);

// The payload's operator set of the default domain; 0 if it has none or is damaged.
int OpsetOfOpaque(const std::string& payload);

struct UnpackedNode {
  onnx::NodeProto node;
  std::map<std::string, int> opsets;
  std::vector<onnx::FunctionProto> functions;  // the model's functions that the node needs
};
// The node of the payload; `inputs` and `outputs` name the values that it reads and makes, in the
// order of OpaqueNode. `fresh` makes an unused name from a name that a subgraph defines.
// InvalidArgument if the payload is damaged.
absl::StatusOr<UnpackedNode> UnpackOpaque(
    absl::string_view payload, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs,
    const std::function<std::string(const std::string&)>& fresh);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPAQUE_H_
