// The tolerance between two executions of a graph in f32. It is defined only here.
//
// Rounding model, with u = 2^-24: an operator whose elements are reductions of K terms adds a
// relative error of at most u * (16 + 4 * sqrt(K)) to the errors of its operands. Rounding errors
// of a reduction behave like a random walk, of which four standard deviations are allowed; scalar
// functions are accurate to a few units in the last place. Operators that only move elements add
// none. A result rounded to f16 or bf16 adds 2 * u of that type. A sum of products in a precision
// below f32 (kernels/codegen/product_precision.h) adds 4 * u of that precision: its factors' errors
// are a random walk too. Errors add up along paths, so a
// graph's tolerance is the largest sum over a path to an output. It is relative to the largest
// element of the output (at least 1), since the elements of an output share their operands' errors.
// An opaque operator adds the sum of the tolerances of the graphs that it executed.
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

// Below, `findings` are those of the run that gave the expected results (Executable::findings). A
// result size that they lack counts as its least value, and an opaque operator that they lack adds
// no error, so that no tolerance is wider than it has to be.

// The number of terms in the longest sum or product in an element of `definition`; 0 if there is
// none.
int64_t ReductionLength(const Definition& definition, const RunFindings& findings = {});

// The error that `node` itself adds to its results, relative to their largest element.
double AddedError(const Node& node, const RunFindings& findings = {},
                  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// The relative tolerance of each output; 0 for integers and bools.
std::vector<double> RelativeTolerances(
    const Graph& graph, const RunFindings& findings = {},
    codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// The result of a comparison of two tensors.
struct Difference {
  double largest = 0;  // absolute; infinite if one is NaN and the other is not
  double scale = 1;    // max(1, largest finite expected element)
  bool within = true;  // largest <= tolerance * scale, types equal, and integers the same
  // The number of all elements, and the number of elements whose expected value is finite. NaN
  // agrees with NaN and an infinity with itself, so only finite elements give evidence.
  int64_t elements = 0, finite = 0;

  double relative() const { return largest / scale; }
  std::string ToString() const;
};
Difference Compare(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_TOLERANCE_H_
