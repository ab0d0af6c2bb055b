// Takes samples of outputs that are too large to store. Later executions are compared with the
// samples.
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
// InvalidArgument, naming the output, if an element of an output is infinite or NaN, or if an
// element of `nearby` is infinite.
absl::StatusOr<NamedTensors> SampleOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                                           absl::Span<const std::vector<Tensor>> nearby);

// The inputs with each float changed at random, by at most 2^-20 relative to its value.
absl::StatusOr<std::vector<Tensor>> Nearby(absl::Span<const Tensor> inputs, uint64_t seed);

// The comparison of outputs with samples. Let t be the absolute tolerance of an output's elements
// (runtime/tolerance.h), and n their number.
//   * An element may differ by t + 4 * d, where d is the largest difference of an element of this
//     output from the same element in `nearby` (SampleOutputs). The term t alone is not enough:
//     rounding across a discontinuity, such as that of relu's gradient at 0, changes an element by
//     more than t.
//   * The norm may differ by t * sqrt(n) + 4 * s * norm. To get s, let m be the largest difference
//     of the output's norm from its norm in `nearby`. s is the maximum of (m - t * sqrt(n)) / norm
//     over all outputs, or 0 if that is negative; it is the same for every output.
struct SampledDifference {
  api::OutputDifference worst;  // the largest difference relative to what is allowed
  int outputs = 0;              // the number of outputs
  int beyond_tolerance = 0;     // the number of outputs that differ by more than t or t * sqrt(n)
};

// Compares `outputs` with `samples`, which SampleOutputs made for the same graph. InvalidArgument,
// naming the output, if `samples` lacks an output or has samples for another number of elements.
absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_
