// Keeping to a limit of memory.
#ifndef LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
#define LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/acceptance.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"

namespace lemma::api {

// Sets the run's limits for what the cost model calls a peak, and for what the back end's plan
// does. By how much each of them is off for the input, because kernels need memory of their own,
// it is taken to be off for all graphs. A model with opaque operators is refused when it comes to
// executing it (Accept).
absl::Status SetLimits(const Graph& input, SearchRun* run);

// The contender with values computed again so that it keeps to the limit, or as near to it as was
// found. It is returned as it is if there is no limit, if it keeps to it, if the back end does not
// tell lifetimes, or if the file to be written would lose them.
absl::StatusOr<Contender> KeptToLimit(Contender contender, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
