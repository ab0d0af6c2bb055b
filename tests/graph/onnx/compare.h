// Are computed values those that somebody else published?
#ifndef LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
#define LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Empty if the outputs of `graph`, executed in double, are `expected`; otherwise what differs
// first. There may be more outputs than expected ones.
//
// Floats may differ by the tolerance of runtime/tolerance.h plus `slack`, relative to the largest
// element of the expected output, be it as small as it may. Integers have to be the same; but where
// the graph rounds reals they may be 1 apart: what lies halfway between two integers in f32 need
// not do so in double.
std::string Mismatch(const Graph& graph, absl::Span<const Tensor> actual,
                     absl::Span<const Tensor> expected, double slack = 0);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
