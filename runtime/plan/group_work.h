// Counts the work of a kernel that runs one or more operators.
#ifndef LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
#define LEMMA_RUNTIME_PLAN_GROUP_WORK_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"

namespace lemma {

// The operations of all `nodes`, and the bytes of their operands and results. A node whose
// definition is missing or cannot be counted adds no operations. The bytes of a value that one of
// the nodes computes and another reads are not counted. If there is only one node, the bytes of its
// operands that it does not read are not counted: a gather, for example, reads only a part of its
// table. If this node cannot be counted, no bytes of its operands are counted.
Work WorkOfGroup(absl::Span<const NodePtr> nodes);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
