// Small tensors of doubles. Tests run models on them and compare the results with formulas that are
// written as loops.
#ifndef LEMMA_TESTS_GRAPH_ONNX_GRID_H_
#define LEMMA_TESTS_GRAPH_ONNX_GRID_H_

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "gtest/gtest.h"

namespace lemma {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Grid {
  Shape shape;
  std::vector<double> values;  // row-major

  Grid() = default;
  // A grid whose elements are all `value`.
  explicit Grid(Shape s, double value = 0);

  // The element at an index; one argument per dimension.
  template <class... Index>
  double& operator()(Index... index) {
    return values[Offset({static_cast<int64_t>(index)...})];
  }
  template <class... Index>
  double operator()(Index... index) const {
    return values[Offset({static_cast<int64_t>(index)...})];
  }

 private:
  size_t Offset(std::initializer_list<int64_t> index) const;
};

// Numbers in [-1, 1) that f16 represents exactly. Equal seeds give equal numbers.
Grid Random(Shape shape, uint64_t seed);
// A grid of rank 1 with these values.
Grid Vector(std::vector<double> values);
// a + b, with b broadcast. The dimensions of b must be the last dimensions of a.
Grid Sum(Grid a, const Grid& b);
// Turns [B,L,H*D] into [B,H,L,D], where H is `heads`.
Grid InHeads(const Grid& x, int64_t heads);
// The inverse: turns [B,H,L,D] into [B,L,H*D].
Grid JoinedHeads(const Grid& x);

// The outputs of an ONNX model on these inputs, computed by the definitions of its operators.
// `graph` is the model's graph in ONNX's text form. `opset` is the version of ONNX's own
// operator set. All nodes except constants are in `domain`; "" is ONNX's own domain, and any other
// domain has version 1. If there is an error, the test fails.
std::vector<Grid> RunGraph(const std::string& graph, int opset, const std::vector<Grid>& inputs,
                           const std::string& domain = "");
// The error message that the import of `graph` gives; if the import succeeds, the error message of
// the first operator that is imported as opaque. "no error" if there is none. Parameters are as in
// RunGraph.
std::string ErrorOfGraph(const std::string& graph, int opset, const std::string& domain = "");

// Whether the shapes are equal and the elements differ by at most `tolerance`, absolutely.
testing::AssertionResult Near(const Grid& actual, const Grid& expected, double tolerance = 2e-6);

// Attention: y[b,h,i] = sum(j) p[j] v[b,g,j], where p is the softmax over j of the scores
// score(b, h, i, j, q[b,h,i]·k[b,g,j] * scale). y[b,h,i] is 0 if all its scores are -inf. The grids
// have the dimensions [batch, head, position, width]. With H heads of q and K heads of k and v,
// head h of q reads head g = h div (H div K). `score` changes or masks the scaled product s.
using Score = std::function<double(int64_t b, int64_t h, int64_t i, int64_t j, double s)>;
Grid AttentionByLoops(const Grid& q, const Grid& k, const Grid& v, double scale,
                      const Score& score);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_GRID_H_
