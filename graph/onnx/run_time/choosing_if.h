// Makes and recognizes ONNX's `If` nodes whose branches compute nothing: each result of a branch is
// a value that the branch captures. If the branches of an If give a result different sizes, the
// import makes such a node for this result. The export puts the operators that only one branch
// needs back into this branch. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_

#include <onnx/onnx_pb.h>

#include <string>

namespace lemma {

// "then_branch" if the condition holds, "else_branch" if it does not.
const char* BranchAttribute(bool holds);
// Adds an empty branch to the If. The pointer is valid until an attribute is added.
onnx::GraphProto* AddBranch(bool holds, onnx::NodeProto* node);
// Adds to the branch an Identity from `captured` to `result`, and an output `result` with an empty
// type. Returns this output.
onnx::ValueInfoProto* AddPassedOn(const std::string& captured, const std::string& result,
                                  onnx::GraphProto* branch);

// Whether the node is an If whose two branches have no inputs and no initializers, and exactly one
// node for each of the If's results, in their order: an Identity of a captured value.
bool IsChoosingIf(const onnx::NodeProto& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_CHOOSING_IF_H_
