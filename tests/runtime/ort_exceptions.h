// Where ONNX Runtime is no referee: what ONNX leaves open, and its faults (docs/reliability.md).
#ifndef LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_
#define LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Why ONNX Runtime may give something else than the definition of `node` on these operands; "" if
// nothing is known of it.
std::string OrtException(const Node& node, absl::Span<const Tensor> operands);

// The same of what each output of `graph` depends on, on these inputs. The definitions execute.
std::vector<std::set<std::string>> OrtExceptions(const Graph& graph,
                                                 absl::Span<const Tensor> inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_ORT_EXCEPTIONS_H_
