// Memory over a run.
#ifndef LEMMA_CLI_SHOW_MEMORY_H_
#define LEMMA_CLI_SHOW_MEMORY_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "runtime/measure.h"

namespace lemma::cli {

// Prints what intermediate values take while each kernel of the plan runs, and which are the
// largest at the peak. Unimplemented if the back end tells no lifetimes.
absl::Status ShowMemory(const Graph& graph, KernelMeasurer* measurer, bool json);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_SHOW_MEMORY_H_
