// The models and steps of training in a folder of tools/package_gpu.
#ifndef LEMMA_TOOLS_GPU_PACKAGED_MODELS_H_
#define LEMMA_TOOLS_GPU_PACKAGED_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/compare.h"
#include "graph/graph.h"
#include "graph/safetensors.h"
#include "graph/tensor.h"

namespace lemma::gpu {

// Weights and inputs of all that is packaged.
constexpr uint64_t kSeed = 1;
constexpr int64_t kIntegerRange = 1000;

struct Variant {
  std::string name;  // of the file, without its ending
  Graph graph;
};

// A model, or a step with its optimized form, if there is one; what they are run on and what comes
// of it.
struct PackagedModel {
  std::vector<Variant> variants;  // the first one as it was
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // outputs; none where there are samples
  NamedTensors samples;          // of SampleOutputs
};

// The models of FOLDER/models: X.onnx, X.optimized.onnx and steps X.step.pb, in the order of their
// names; with `only`, those of these X. NotFound, named, if there is no such X, or nothing at all.
absl::StatusOr<std::vector<std::string>> PackagedFiles(const std::string& folder,
                                                       const std::vector<std::string>& only);

// Reads one of these. A model's weights and inputs are drawn, and X.expected/output_0.pb, … is what
// comes of them; an optimized model has folded weights of its own, and so its own expected outputs.
// A step's new state is compared with X.step.safetensors, or without one computed here by the
// reference. X.step.optimized.pb is its second variant.
absl::StatusOr<PackagedModel> LoadPackaged(const std::string& file);

// What a step is run on whose outputs are sampled: momenta are 0 and the learning rate is 1000, so
// that the new state is nearly all gradient, and errors of gradients are not lost beside it.
absl::StatusOr<std::vector<Tensor>> SampledStepInputs(const Graph& graph);

struct PackagedDifference {
  api::OutputDifference worst;
  int beyond_tolerance = 0;  // of SampledDifference
};
absl::StatusOr<PackagedDifference> CompareWithExpected(const PackagedModel& model,
                                                       const Graph& variant,
                                                       absl::Span<const Tensor> outputs);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_PACKAGED_MODELS_H_
