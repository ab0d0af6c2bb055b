// Compares computed outputs with expected outputs that somebody else has published.
#ifndef LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
#define LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/run_findings.h"

namespace lemma {

// "" if `actual`, the outputs of `graph` executed in double, equal `expected`; otherwise the first
// difference. There may be more outputs than expected tensors.
//
// `findings` are the findings of the execution (Executable::findings). Floats
// may differ by the tolerance of runtime/tolerance.h plus `slack`. Both are
// relative to the largest finite magnitude in the expected output, even if this
// magnitude is below 1. Integers must be equal. If the graph rounds reals to
// integers, integers may differ by 1: a number that is halfway between two
// integers in f32 may be nearer to one of them in double.
std::string Mismatch(const Graph& graph, absl::Span<const Tensor> actual,
                     absl::Span<const Tensor> expected, double slack = 0,
                     const RunFindings& findings = {});

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
