// Lists cases in which ONNX Runtime may differ from the definitions: behavior that ONNX leaves
// open, and ONNX Runtime's faults (docs/reliability.md).
#ifndef LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_
#define LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Why ONNX Runtime may differ from the definition of `node` on these operands; "" if no reason is
// known.
std::string OrtException(const Node& node, absl::Span<const Tensor> operands);

// For each output of `graph`: the reasons (OrtException) of all nodes that the output depends on,
// on these inputs. Executes the definitions to get the operands of the nodes; if the execution
// fails, gives no reasons.
std::vector<std::set<std::string>> OrtExceptions(const Graph& graph,
                                                 absl::Span<const Tensor> inputs);

// Why ONNX Runtime may refuse the model of `graph`, or crash on it, although it is valid; "" if no
// reason is known.
std::string WhyRefused(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_
