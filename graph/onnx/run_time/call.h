// Computes opaque operators: those that are kept as ONNX has them.
//
// Some operators have no definition before a graph runs: their results' sizes, or which of their
// subgraphs is executed and how often, depend on values. The graph of such an operator is imported
// at run time, with the types of the operands and, where the import asks for them, their values. So
// an operator means what its importer says.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// A graph that is ready to run: its outputs for its inputs.
using GraphFunction =
    std::function<absl::StatusOr<std::vector<Tensor>>(absl::Span<const Tensor> inputs)>;
using GraphCompiler = std::function<absl::StatusOr<GraphFunction>(const Graph& graph)>;

// Not thread-safe.
class OpaqueCall {
 public:
  virtual ~OpaqueCall() = default;
  // Errors begin with the operator.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;
};

// The call keeps the graphs that it compiled for the last 16 types and values of its operands.
// Unimplemented ("unsupported: OP (…)") if `node`, which is opaque, cannot be computed whatever its
// operands are.
absl::StatusOr<std::unique_ptr<OpaqueCall>> MakeCall(const Node& node, GraphCompiler compile);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_
