// Outputs of two executions, held against each other.
#ifndef LEMMA_API_EXECUTION_COMPARE_H_
#define LEMMA_API_EXECUTION_COMPARE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// The output that differs most, measured against what it may differ (runtime/tolerance.h).
struct OutputDifference {
  bool ok = true;      // every output is within its tolerance
  double largest = 0;  // absolute
  double allowed = 0;  // absolute
  std::string output;  // its name
  // Of all outputs together: elements, and those that were expected to be finite. Only these say
  // something: see runtime/tolerance.h.
  int64_t elements = 0, finite = 0;
  // Why it is no fault though it is not ok; empty: there is no reason.
  std::string excuse;

  // False: every element was expected to be infinite or NaN, so nothing is known.
  bool compared() const { return finite > 0 || elements == 0; }
  // "largest difference D of N values, allowed A"; "nothing was compared: …" where nothing was.
  std::string ToString() const;
};

// Of `graph`'s outputs, in its order.
OutputDifference CompareOutputs(const Graph& graph, absl::Span<const Tensor> actual,
                                absl::Span<const Tensor> expected);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_COMPARE_H_
