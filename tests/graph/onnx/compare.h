// Are computed values those expected, up to rounding?
#ifndef LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
#define LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_

#include <string>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// The largest number of terms on a path of reductions from an input to an output: the rounding
// error of an output grows with it.
double ReductionLength(const Graph& graph);

// How far an integer output may be off: 1 if the graph rounds reals, since what lies halfway
// between two integers in f32 need not do so in double; otherwise 0.
double IntegerSlack(const Graph& graph);

// Empty if `actual` is `expected`: types exactly, integers within `integer_slack`; floats within
// 4 eps (1 + length) max|expected|, eps being the element type's; otherwise what differs first.
std::string Difference(const Tensor& actual, const Tensor& expected, double length,
                       double integer_slack = 0);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_COMPARE_H_
