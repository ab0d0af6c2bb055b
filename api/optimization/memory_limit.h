// Brings graphs below a memory limit.
#ifndef LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
#define LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/acceptance.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"

namespace lemma::api {

// Sets run->peak_limit and run->plan_limit from the memory limit, which must be set. The peaks of
// the cost model and of the back end's plan leave out memory that kernels need for themselves; the
// difference is computed for the input and assumed to be the same for all graphs. A model that
// cannot be executed is no error here; Accept (api/optimization/acceptance.h) refuses it.
absl::Status SetLimits(const Graph& input, SearchRun* run);

// The contender, with values recomputed or offloaded (docs/glossary.md) until it meets the limit,
// or as near to the limit as was found. It is returned unchanged if there is no limit, if it meets
// the limit already, if the back end gives no lifetimes, or if the output format cannot hold
// recomputed values.
absl::StatusOr<Contender> KeptToLimit(Contender contender, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
