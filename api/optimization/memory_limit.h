// Brings graphs below a memory limit.
#ifndef LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
#define LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/acceptance.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"

namespace lemma::api {

// Sets run->peak_limit and run->plan_limit, in bytes, from the memory limit in
// run->options.objective; with analytic costs, also sets run->memory_measurer. The memory limit and
// run->costs must be set. The peaks of the cost model and of the back end's plan leave out memory
// that kernels need for themselves; the size of this memory is computed for the input and assumed
// to be the same for all graphs. If the back end cannot compile the input (Unimplemented), both
// limits are the memory limit itself, and Accept (api/optimization/acceptance.h) refuses the input
// later; for a GPU that is not present, SetLimits returns the error instead. Other errors are those
// of the back end and of the costs.
absl::Status SetLimits(const Graph& input, SearchRun* run);

// The contender, with values recomputed or offloaded (docs/glossary.md) until it meets the limit,
// or comes as near to the limit as the attempts could bring it. The contender is returned unchanged
// if there is no limit, if it meets the limit already, if the back end gives no lifetimes, or if
// the output format cannot hold recomputed values. Takes at most as much time as the search was
// given (OptimizeOptions::deadline); after an interruption, returns the best graph so far.
absl::StatusOr<Contender> KeptToLimit(Contender contender, SearchRun* run);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MEMORY_LIMIT_H_
