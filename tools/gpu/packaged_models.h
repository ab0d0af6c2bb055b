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
constexpr int64_t kIntegerRange = 1000;  // random integers are at least 0 and below this

struct Variant {
  std::string name;  // of the file, without its extension
  Graph graph;
};

// A model or a training step, with inputs and expected results.
struct PackagedModel {
  std::vector<Variant> variants;  // the graph of the file; for a step also its optimized form
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // the expected outputs; empty if there are samples
  NamedTensors samples;          // from SampleOutputs (tools/gpu/sampled_outputs.h); may be empty
};

// The paths of the files in FOLDER/models, sorted: X.onnx, X.optimized.onnx and training steps
// X.step.pb. If `only` is not empty, only files whose X is in `only`. NotFound if an X of `only`
// has no file, or if there is no file at all.
absl::StatusOr<std::vector<std::string>> PackagedFiles(const std::string& folder,
                                                       const std::vector<std::string>& only);

// Reads a file of PackagedFiles. A model's weights and inputs are random, and
// X.expected/output_0.pb, … are the outputs for them. The folded weights of an
// optimized model are random too, not computed from the weights of X, so it has
// expected outputs of its own, in X.optimized.expected. The expected outputs of
// a step are the samples in X.step.safetensors or, if this file is missing, the
// outputs of the reference back end. X.step.optimized.pb, if it exists, is the
// step's second variant. Without samples, Internal if an expected float output
// has an element that is not finite, or more than one element and the same
// nonzero number in all of them: wrong outputs could equal it.
absl::StatusOr<PackagedModel> LoadPackaged(const std::string& file);

// Random inputs for a step whose outputs are sampled. Momenta (inputs NAME.m) are 0 and the
// learning rate (input lr) is 1000, so the new state consists almost only of gradients and does not
// hide their errors.
absl::StatusOr<std::vector<Tensor>> SampledStepInputs(const Graph& graph);

struct PackagedDifference {
  api::OutputDifference worst;
  int beyond_tolerance = 0;  // as in SampledDifference; 0 if the model has no samples
};
// Compares `outputs`, the outputs of `variant`, with model.expected or model.samples. `variant` is
// the graph of one of the model's variants.
absl::StatusOr<PackagedDifference> CompareWithExpected(const PackagedModel& model,
                                                       const Graph& variant,
                                                       absl::Span<const Tensor> outputs);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_PACKAGED_MODELS_H_
