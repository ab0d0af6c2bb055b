// Executes graphs with opaque operators, for example operators whose result sizes are known only at
// run time.
#ifndef LEMMA_RUNTIME_STAGED_STAGED_H_
#define LEMMA_RUNTIME_STAGED_STAGED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma {

// Whether a graph has opaque operators, so that it is executed in stages.
bool NeedsStages(const Graph& graph);

// Cuts the graph at its opaque operators. `backend` compiles the parts between them. An opaque
// operator is imported (graph/onnx/run_time/call.h) when its operands are known; `backend` compiles
// the imported graph too. An opaque operator that only one side of a Choice needs
// (runtime/plan/node_traits.h) is executed only if this side is taken, and so are the parts that
// only such an operator reads. State is never updated in place. Unimplemented if an opaque operator
// cannot be computed.
absl::StatusOr<std::unique_ptr<Executable>> CompileStages(const Graph& graph,
                                                          const CompileOptions& options,
                                                          std::shared_ptr<Backend> backend);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_STAGED_H_
