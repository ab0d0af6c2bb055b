// Moves nodes into the branches of If nodes. Internal to graph/onnx/export.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/container/flat_hash_set.h"

namespace lemma {

// Names of results of the If nodes that these functions may change. Each of their branches has no
// inputs and one Identity per result.
using IfNames = absl::flat_hash_set<std::string>;

// Joins If nodes that have the same condition and do not depend on each other. Afterwards a node
// may stand before one that it reads. Does nothing if `ifs` has more than 64 names. In `graph`,
// operands must precede users.
void JoinIfs(const IfNames& ifs, onnx::GraphProto* graph);

// Moves each node whose results only one branch reads into that branch, so that it is computed only
// if the branch is taken. In `graph`, operands must precede users; they still do afterwards.
void MoveIntoBranches(const IfNames& ifs, onnx::GraphProto* graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_
