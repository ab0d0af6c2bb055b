// What a kernel that runs several applications computes, reads and writes.
#ifndef LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
#define LEMMA_RUNTIME_PLAN_GROUP_WORK_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"

namespace lemma {

// The operations of all `nodes` (0 where a definition cannot be counted), the bytes of what comes
// from outside and of the last one's outputs. What is between them counts for no bytes.
Work WorkOfGroup(absl::Span<const NodePtr> nodes);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_GROUP_WORK_H_
