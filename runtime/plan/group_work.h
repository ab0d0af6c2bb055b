// Counts the work of a kernel that runs several applications.
#ifndef LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
#define LEMMA_RUNTIME_PLAN_GROUP_WORK_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"

namespace lemma {

// The operations of all `nodes` (0 for a definition that cannot be counted), and the bytes of their
// operands and results. Values that one of the nodes computes and another reads count no bytes. A
// single node counts only the bytes that it reads: a gather reads a part of its table.
Work WorkOfGroup(absl::Span<const NodePtr> nodes);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
