// Counts the work of a kernel that runs several applications.
#ifndef LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
#define LEMMA_RUNTIME_PLAN_GROUP_WORK_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"

namespace lemma {

// The operations of all `nodes` (0 if a definition cannot be counted), and the bytes of their
// external operands and of the last node's outputs. Values between the nodes count no bytes.
Work WorkOfGroup(absl::Span<const NodePtr> nodes);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
