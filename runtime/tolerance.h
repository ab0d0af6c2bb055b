// Defines how far the outputs of two executions of a graph may differ: the tolerance.
//
// The model of rounding, with u = 2^-24, the unit roundoff of f32:
//   * An operator whose result elements are reductions of K terms adds a relative error of at most
//     u * (16 + 4 * sqrt(K)) to the errors of its operands. The 16 is for scalar functions, which
//     are accurate to a few units in the last place. Rounding errors of a reduction behave like a
//     random walk; the tolerance allows four standard deviations of this walk.
//   * An operator that only moves elements adds nothing.
//   * A result that is rounded to f16, bf16 or TF32 adds 2 * u, where u is the unit roundoff of the
//     16-bit type or of TF32.
//   * A sum of products whose factors are rounded to a precision below f32
//     (kernels/codegen/product_precision.h) adds 4 * u, where u is the unit roundoff of this
//     precision: the rounding errors of the factors are a random walk too. In the precision
//     `stored`, whose factors are not rounded, it adds 8 times as much as a sum in f32, since
//     tensor cores truncate.
//   * An opaque operator adds the sum of the tolerances of the graphs that it executed.
// Errors add up along paths, so the tolerance of an output is the largest sum of the errors on a
// path that leads to it. The tolerance is relative to the largest magnitude in the output (at least
// 1), since the elements of an output share the errors of their operands.
#ifndef LEMMA_RUNTIME_TOLERANCE_H_
#define LEMMA_RUNTIME_TOLERANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/run_findings.h"

namespace lemma {

// Below, `findings` are the findings of the run that gave the expected results
// (Executable::findings). If `findings` has no size for a symbolic dimension, the dimension counts
// as its least value; if it has no error for an opaque operator, the operator adds no error. So no
// tolerance is wider than it has to be. `precision` is the precision of products in the run whose
// results are compared with the expected ones.

// The number of terms in the longest reduction that computes an element of the definition's
// outputs. The numbers of terms of nested reductions are multiplied. 0 if there is no reduction.
int64_t ReductionLength(const Definition& definition, const RunFindings& findings = {});

// The error that `node` itself adds to its results, relative to their largest element.
double AddedError(const Node& node, const RunFindings& findings = {},
                  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// The relative tolerance of each output of `graph`; 0 for integers, bools and small floats.
std::vector<double> RelativeTolerances(
    const Graph& graph, const RunFindings& findings = {},
    codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// The result of a comparison of two tensors.
struct Difference {
  // The largest absolute difference between an element and the expected
  // element. Infinite if the element types or shapes differ, if only one of the
  // two elements is NaN, or if one is infinite and the other is another value.
  double largest = 0;
  double scale = 1;    // max(1, largest magnitude of a finite expected element)
  bool within = true;  // floats: largest <= tolerance * scale; other types: all elements equal
  // The number of all elements, and the number of elements whose expected value is finite; both 0
  // if the types differ. NaN agrees with NaN and an infinity with itself, so only finite elements
  // give evidence.
  int64_t elements = 0, finite = 0;

  double relative() const { return largest / scale; }
  std::string ToString() const;  // one line for people
};
Difference Compare(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_TOLERANCE_H_
