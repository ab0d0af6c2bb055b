// Compares computed values with published ones.
#ifndef LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
#define LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/run_findings.h"

namespace lemma {

// Empty if the outputs of `graph`, executed in double, equal `expected`; otherwise the first
// difference. There may be more outputs than expected ones.
//
// `findings` are those of the execution (Executable::findings). Floats may differ by the
// tolerance of runtime/tolerance.h plus `slack`, relative to the largest element of the expected
// output, however small that is. Integers must be equal. If the graph rounds reals to integers,
// they may differ by 1: a number halfway between two integers in f32 need not be so in double.
std::string Mismatch(const Graph& graph, absl::Span<const Tensor> actual,
                     absl::Span<const Tensor> expected, double slack = 0,
                     const RunFindings& findings = {});

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
