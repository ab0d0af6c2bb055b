// Takes samples of outputs that are too large to store, to compare later executions with them.
#ifndef LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_
#define LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/compare.h"
#include "graph/graph.h"
#include "graph/safetensors.h"
#include "graph/tensor.h"

namespace lemma::gpu {

// The samples of `outputs`: for each output of `graph`, under its name, a vector in f64. It holds
// the Euclidean norm of the output, the largest magnitude of its elements, the largest difference
// of an element from the same element in `nearby`, the largest difference of the norm from a norm
// in `nearby`, and up to 256 evenly spaced elements. Each entry of `nearby` holds all outputs for
// the same inputs with other roundings, or for inputs that differ by a few roundings.
// InvalidArgument, naming the output, if an output or a difference of its elements is not finite.
absl::StatusOr<NamedTensors> SampleOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                                           absl::Span<const std::vector<Tensor>> nearby);

// The inputs with each float changed at random, by at most 2^-20 relative to its value.
absl::StatusOr<std::vector<Tensor>> Nearby(absl::Span<const Tensor> inputs, uint64_t seed);

// The comparison of outputs with samples. Let t be the absolute tolerance of an output's elements
// (runtime/tolerance.h).
//   * An element may differ by t plus four times the largest difference of an element of this
//     output that the samples state. Rounding across a discontinuity, such as the discontinuity of
//     relu's gradient at 0, changes more than t, and each way to compute a step rounds differently.
//   * The norm of an output of n elements may differ by t * sqrt(n) plus 4 * s * norm. Here s is
//     the largest relative difference of a norm, beyond t * sqrt(n), that the samples state for any
//     output: norms differ much less than elements.
struct SampledDifference {
  api::OutputDifference worst;  // the largest difference relative to what is allowed
  int outputs = 0;              // the number of outputs
  int beyond_tolerance = 0;     // the number of outputs that differ by more than t or t * sqrt(n)
};

// InvalidArgument, naming the output, if `samples` lacks it or has another number of its elements.
absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_
