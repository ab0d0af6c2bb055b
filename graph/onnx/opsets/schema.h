// Reads ONNX's own schemas: attributes, inputs and types of an operator in an operator set.
// Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_OPSETS_SCHEMA_H_
#define LEMMA_GRAPH_ONNX_OPSETS_SCHEMA_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

namespace lemma {

// The last operator set whose schemas the linked ONNX library has. Nothing is known of later sets.
int LastKnownOpset();

// The first operator set in which element-wise operators broadcast without being told to. Many
// operators had other forms before.
constexpr int kBroadcastOpset = 7;

// The operator set that introduced the version of the operator that `opset` has; 0 if it is not
// known.
int SinceOpset(const std::string& op_type, int opset);

// By value, ONNX's number of the element type; 0 or absent: unknown.
using ElementTypes = std::map<std::string, int>;

// Why operator set `opset` of the default domain does not have the node, by its inputs' types,
// attributes and numbers of inputs; "" if it has it, or if nothing is known of the set. Removes
// attributes that the set lacks if their values are the defaults of the last known set. Adds the
// types of the node's outputs.
std::string SchemaProblem(int opset, onnx::NodeProto* node, ElementTypes* types);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPSETS_SCHEMA_H_
