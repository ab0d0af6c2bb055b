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

// For each output of `graph`, under its name, in f64: its norm, its largest element, the largest
// distances of elements and of the norm from those in `nearby`, and up to 256 evenly spaced
// elements. `nearby` holds outputs for the same inputs with other roundings, or for inputs that
// differ by a few roundings. InvalidArgument, naming the output, if an output is not finite.
absl::StatusOr<NamedTensors> SampleOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                                           absl::Span<const std::vector<Tensor>> nearby);

// The inputs with each float changed at random by up to 2^-20 of itself.
absl::StatusOr<std::vector<Tensor>> Nearby(absl::Span<const Tensor> inputs, uint64_t seed);

// The comparison of outputs with samples. An element may differ by the tolerance of
// runtime/tolerance.h plus four times the largest distance of elements of this output in the
// samples: rounding across a discontinuity, such as that of relu's gradient at 0, changes more than
// the tolerance covers, and each way to compute a step rounds differently. A norm may differ by the
// tolerance for all elements plus four times the largest relative change of any norm in the
// samples: norms change much less than elements.
struct SampledDifference {
  api::OutputDifference worst;
  int outputs = 0;
  int beyond_tolerance = 0;  // outputs that exceed the tolerance of runtime/tolerance.h
};

// InvalidArgument, naming the output, if `samples` lacks it or has it with another size.
absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_
