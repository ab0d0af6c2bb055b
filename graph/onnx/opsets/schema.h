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

// The first operator set in which element-wise operators broadcast without the attribute
// `broadcast`. Many operators had other forms before.
constexpr int kBroadcastOpset = 7;

// The operator set that introduced the version of the operator that `opset` uses; 0 if the linked
// library does not know the operator.
int SinceOpset(const std::string& op_type, int opset);

// By name of a value, its element type as a number of TensorProto.DataType; 0 or absent: unknown.
using ElementTypes = std::map<std::string, int>;

// The reason why the node is not valid in operator set `opset` of the default domain: the first
// part of the node that the set lacks, such as "attribute axis". The parts are the operator, the
// numbers of inputs and outputs, the attributes and the types, in this order. "" if the node is
// valid, or if `opset` is above LastKnownOpset(). An attribute that the set lacks is no problem if
// its value is the default in the last known set; the function removes such an attribute. If the
// node is valid, the function adds the types of its outputs to `types`.
std::string SchemaProblem(int opset, onnx::NodeProto* node, ElementTypes* types);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_OPSETS_SCHEMA_H_
