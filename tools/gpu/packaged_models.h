// Reads the models and training steps in a folder of tools/package_gpu.
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

// The seed of all random weights and inputs.
constexpr uint64_t kSeed = 1;
constexpr int64_t kIntegerRange = 1000;  // integers are at least 0 and below it

struct Variant {
  std::string name;  // of the file, without its extension
  Graph graph;
};

// A model, with its inputs and expected results. A training step also has its optimized form, if
// there is one.
struct PackagedModel {
  std::vector<Variant> variants;  // the first is the original
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // outputs; empty if there are samples
  NamedTensors samples;          // from SampleOutputs (tools/gpu/sampled_outputs.h)
};

// Files in FOLDER/models: X.onnx, X.optimized.onnx and steps X.step.pb, sorted by name. If `only`
// is not empty, only files whose X is in it. NotFound if an X of `only` has no file, or if there is
// no file at all.
absl::StatusOr<std::vector<std::string>> PackagedFiles(const std::string& folder,
                                                       const std::vector<std::string>& only);

// Reads one of these files. A model's weights and inputs are random, and X.expected/output_0.pb, …
// are the outputs for them. An optimized model has its own folded weights and so its own expected
// outputs. The new state of a step is compared with X.step.safetensors or, if that is missing, with
// the reference back end's. X.step.optimized.pb is its second variant.
absl::StatusOr<PackagedModel> LoadPackaged(const std::string& file);

// Inputs for a step whose outputs are sampled. Momenta are 0 and the learning rate is 1000, so the
// new state consists almost only of gradients and does not hide their errors.
absl::StatusOr<std::vector<Tensor>> SampledStepInputs(const Graph& graph);

struct PackagedDifference {
  api::OutputDifference worst;
  int beyond_tolerance = 0;  // as in SampledDifference
};
// Compares the outputs of `variant`, one of the model's, with `model.expected` or its samples.
absl::StatusOr<PackagedDifference> CompareWithExpected(const PackagedModel& model,
                                                       const Graph& variant,
                                                       absl::Span<const Tensor> outputs);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_PACKAGED_MODELS_H_
