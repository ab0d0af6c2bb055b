// ONNX's `If` nodes whose branches compute nothing: each result is a value that the branch
// captures. The import makes such nodes for those results of an If whose sizes differ between the
// branches, and the export puts nodes back into the branches. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace lemma {

// "then_branch" if the condition holds, "else_branch" if it does not.
const char* BranchAttribute(bool holds);
// Adds an empty branch to the If. The pointer is valid until an attribute is added.
onnx::GraphProto* AddBranch(bool holds, onnx::NodeProto* node);
// Adds to the branch an Identity that makes `result` of the captured value, and the result as an
// output with an empty type. Returns the output.
onnx::ValueInfoProto* AddPassedOn(const std::string& captured, const std::string& result,
                                  onnx::GraphProto* branch);

// Whether the node is an If whose two branches have no inputs and no initializers, and one Identity
// for each of the node's results, in their order.
bool IsChoosingIf(const onnx::NodeProto& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_
