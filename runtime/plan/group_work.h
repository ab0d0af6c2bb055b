// Counts the work of a kernel that runs one or more operators.
#ifndef LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
#define LEMMA_RUNTIME_PLAN_GROUP_WORK_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"

namespace lemma {

// The operations of all `nodes`, and the bytes of their operands and results. A node whose
// definition is missing or cannot be counted adds no operations. Values that one of the nodes
// computes and another reads count no bytes. If there is only one node, only the bytes that it
// reads of its operands count: a gather reads a part of its table.
Work WorkOfGroup(absl::Span<const NodePtr> nodes);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
