// Parts of outputs that are too large to keep, to compare later executions with.
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

// Of each output of `graph`, under its name, f64: its norm, its largest element, how far elements
// and the norm moved at most in the outputs of `nearby`, which come of the same inputs by other
// roundings, or of inputs that differ by a few roundings, and up to 256 elements at even distances.
// InvalidArgument, named, where an output is not finite.
absl::StatusOr<NamedTensors> SampleOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                                           absl::Span<const std::vector<Tensor>> nearby);

// Inputs of which each float has been moved by up to 2^-20 of itself, at random.
absl::StatusOr<std::vector<Tensor>> Nearby(absl::Span<const Tensor> inputs, uint64_t seed);

// An element may differ by what runtime/tolerance.h allows, and by four times what elements of the
// output moved: rounding that takes a value across a jump, such as that of relu's gradient at 0,
// changes more than the tolerance knows of, and no two ways to compute a step round alike. A norm
// may differ by what the tolerance allows all elements, and by four times the share of itself that
// the norm of any output moved: norms move much less than elements.
struct SampledDifference {
  api::OutputDifference worst;
  int outputs = 0;
  int beyond_tolerance = 0;  // outputs that needed more than what runtime/tolerance.h allows
};

// InvalidArgument, named, where `samples` lacks an output or has one of another size.
absl::StatusOr<SampledDifference> CompareSamples(const Graph& graph,
                                                 absl::Span<const Tensor> outputs,
                                                 const NamedTensors& samples);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_SAMPLED_OUTPUTS_H_
