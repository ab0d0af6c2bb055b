// Joins If nodes, and moves other nodes into their branches. Internal to graph/onnx/export.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_
#define LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/container/flat_hash_set.h"

namespace lemma {

// The If nodes that these functions may change, by the names of their first
// results. IsChoosingIf (graph/onnx/run_time/choosing_if.h) is true for each of
// them.
using IfNames = absl::flat_hash_set<std::string>;

// Joins If nodes that have the same condition and do not depend on each other.
// In `graph`, operands must precede users. Afterwards, operands may follow
// users, and joined nodes may even depend on each other in a cycle. The caller
// must order the nodes again.
void JoinIfs(const IfNames& ifs, onnx::GraphProto* graph);

// Moves each node whose results only one branch reads into that branch, so that it is computed only
// if the branch is taken. In `graph`, operands must precede users; they still do afterwards.
void MoveIntoBranches(const IfNames& ifs, onnx::GraphProto* graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_BRANCHES_H_
