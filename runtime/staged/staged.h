// Executes graphs with opaque operators (graph/onnx/opaque.h): operators without a definition when
// the graph is compiled, for example because the sizes of their results are known only at run time.
#ifndef LEMMA_RUNTIME_STAGED_STAGED_H_
#define LEMMA_RUNTIME_STAGED_STAGED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma {

// Whether a graph has opaque operators and so must be executed in stages.
bool NeedsStages(const Graph& graph);

// Cuts the graph at its opaque operators. `backend` compiles the parts between them. An opaque
// operator is imported as a graph (graph/onnx/run_time/call.h) when the values of its operands are
// known; `backend` compiles this graph too. If only one side of a Choice
// (runtime/plan/node_traits.h) needs an opaque operator, the operator is executed only if this side
// is taken. A part whose results only such operators read is executed only in this case, too. State
// is never updated in place. Unimplemented if an opaque operator cannot be computed.
absl::StatusOr<std::unique_ptr<Executable>> CompileStages(const Graph& graph,
                                                          const CompileOptions& options,
                                                          std::shared_ptr<Backend> backend);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STAGED_STAGED_H_
