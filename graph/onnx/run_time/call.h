// Computes opaque operators, which are kept as ONNX has them (docs/glossary.md).
//
// Some operators have no definition before a graph runs: their results' sizes, or which of their
// subgraphs is executed and how often, depend on values. Such an operator is imported as a graph at
// run time, with the types of the operands and, where the import needs them, their values. So its
// importer defines the result, as for all other operators.
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

// A compiled graph: returns the values of its outputs for those of its inputs, both in order.
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

// `compile` is called when operands have new types or values; the call keeps its results for the
// last 16 of them. `node` must be opaque. Unimplemented ("unsupported: OP (…)") if it can be
// computed for no operands.
absl::StatusOr<std::unique_ptr<OpaqueCall>> MakeCall(const Node& node, GraphCompiler compile);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_
