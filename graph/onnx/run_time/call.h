// Computes opaque operators, which are kept as ONNX has them (docs/glossary.md).
//
// Some operators have no definition before a graph runs: the sizes of their results depend on
// values, or values decide which of their subgraphs is executed and how often. Such an operator is
// imported as a graph at run time, for the types of the operands and, where the import needs them,
// the values of the operands.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
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

// Computes one opaque node, any number of times. Not thread-safe.
class OpaqueCall {
 public:
  virtual ~OpaqueCall() = default;
  // `inputs`: the values of the node's operands, in order. Returns the values of its results.
  // Errors begin with the operator's name.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;
};

// The names that the model gives to an opaque node's operands and results, for messages; "" for a
// value without a name. Operands and results beyond the end of a list have no names.
struct CallNames {
  std::vector<std::string> inputs, outputs;
};

// Makes the OpaqueCall of `node`, which must be opaque. The call compiles a graph for each
// combination of operand types, and of operand values that the import reads; it keeps the 16 graphs
// used last. Unimplemented ("unsupported: …") if `node` cannot be computed, whatever its operands
// are. InvalidArgument if the body of a Loop or Scan does not fit the node.
absl::StatusOr<std::unique_ptr<OpaqueCall>> MakeCall(const Node& node, GraphCompiler compile,
                                                     const CallNames& names = {});

// If the opaque `node` is an If that only chooses between operands
// (graph/onnx/run_time/choosing_if.h): for each operand, the value of the condition for which the
// operand is read; nullopt for the condition, which is operand 0, and for an operand that is read
// for both values. Empty for other nodes.
std::vector<std::optional<bool>> ReadOnlyIf(const Node& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_CALL_H_
