// Executes a training step on the reference back end, stores samples of its outputs for gpu_check,
// and prints how far the CPU back end's outputs are from them.
//
// Usage: sample_step STEP.pb OUT.safetensors
#include <cstdio>
#include <string>
#include <vector>

#include "api/models/model_file.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tools/gpu/packaged_models.h"
#include "tools/gpu/sampled_outputs.h"

namespace lemma::gpu {
namespace {

constexpr int kNearby = 48;

absl::Status SampleStep(const std::string& step, const std::string& out) {
  auto model = api::LoadModel(step);
  if (!model.ok()) return model.status();
  auto inputs = SampledStepInputs(model->graph);
  if (!inputs.ok()) return inputs.status();
  auto reference = MakeReferenceBackend()->Compile(model->graph, {});
  if (!reference.ok()) return reference.status();
  auto outputs = (*reference)->Run(*inputs);
  if (!outputs.ok()) return outputs.status();
  auto executable = MakeCpuBackend()->Compile(model->graph, {});
  if (!executable.ok()) return executable.status();
  std::vector<std::vector<Tensor>> nearby;
  for (int seed = 0; seed <= kNearby; ++seed) {
    // First the unchanged inputs, to see the effect of f32 alone.
    auto moved = seed == 0 ? inputs : Nearby(*inputs, static_cast<uint64_t>(seed));
    if (!moved.ok()) return moved.status();
    auto others = (*executable)->Run(*moved);
    if (!others.ok()) return others.status();
    nearby.push_back(*std::move(others));
  }
  auto samples = SampleOutputs(model->graph, *outputs, nearby);
  if (!samples.ok()) return samples.status();
  return WriteSafetensors(out, *samples);
}

}  // namespace
}  // namespace lemma::gpu

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: sample_step STEP.pb OUT.safetensors\n");
    return 2;
  }
  const absl::Status s = lemma::gpu::SampleStep(argv[1], argv[2]);
  if (s.ok()) return 0;
  std::fprintf(stderr, "sample_step: %s\n", std::string(s.message()).c_str());
  return 1;
}
