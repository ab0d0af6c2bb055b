// Compares the outputs of two executions.
#ifndef LEMMA_API_EXECUTION_COMPARE_H_
#define LEMMA_API_EXECUTION_COMPARE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/run_findings.h"

namespace lemma::api {

// The output whose difference is largest relative to its tolerance (runtime/tolerance.h).
struct OutputDifference {
  bool ok = true;      // every output is within its tolerance
  double largest = 0;  // the largest absolute difference of this output's elements
  double allowed = 0;  // the absolute difference that this output's tolerance allows
  std::string output;  // this output's name
  // The number of elements of all outputs together, and of those that were expected to be finite.
  // Only finite elements give evidence (runtime/tolerance.h).
  int64_t elements = 0, finite = 0;
  // Why the difference is not a fault although `ok` is false; "": no reason is known.
  // CompareOutputs leaves it ""; Definitions::Judge (api/execution/definitions.h) sets it.
  std::string excuse;

  // False if every element was expected to be infinite or NaN, so that nothing is known.
  bool compared() const { return finite > 0 || elements == 0; }
  // "largest difference D of N values, allowed A (OUTPUT)", then the excuse, if any; "nothing was
  // compared: …" if compared() is false.
  std::string ToString() const;
};

// Compares two sets of outputs of `graph`. Both must have the order and the types of the graph's
// outputs. `findings` are facts about the values in the run that gave `expected` or, if that run is
// not known, in the run that gave `actual` (Executable::findings in runtime/executor.h).
// `precision` is the precision of products in the run that gave `actual`.
OutputDifference CompareOutputs(
    const Graph& graph, absl::Span<const Tensor> actual, absl::Span<const Tensor> expected,
    const RunFindings& findings = {},
    codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_COMPARE_H_
