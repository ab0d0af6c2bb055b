#include "tools/gpu/packaged_models.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "graph/onnx/tensor_proto.h"
#include "runtime/reference/reference.h"
#include "tools/gpu/sampled_outputs.h"

namespace lemma::gpu {
namespace {

namespace fs = std::filesystem;

// The X of X.onnx, X.optimized.onnx or X.step.pb; empty for other files.
std::string NameOf(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (file.extension() == ".onnx") return std::string(absl::StripSuffix(stem, ".optimized"));
  if (file.extension() == ".pb" && absl::EndsWith(stem, ".step")) {
    return stem.substr(0, stem.size() - 5);
  }
  return "";
}

absl::StatusOr<std::vector<Tensor>> ExpectedOf(const fs::path& folder, size_t count) {
  std::vector<Tensor> expected;
  for (size_t k = 0; k < count; ++k) {
    auto tensor = ReadTensorProto(absl::StrCat(folder.string(), "/output_", k, ".pb"));
    if (!tensor.ok()) return tensor.status();
    expected.push_back(tensor->tensor);
  }
  return expected;
}

absl::StatusOr<std::vector<Tensor>> ByReference(const Graph& graph,
                                                const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(inputs);
}

// Rejects outputs that are not finite or are constant, since wrong outputs could equal them.
absl::Status CheckSound(const std::vector<Tensor>& expected) {
  for (const Tensor& tensor : expected) {
    if (!IsFloat(tensor.dtype())) continue;
    double least = HUGE_VAL, largest = -HUGE_VAL;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double x = tensor.AtDouble(i);
      if (!std::isfinite(x)) return absl::InternalError("the expected outputs are not finite");
      least = std::min(least, x);
      largest = std::max(largest, x);
    }
    if (tensor.size() > 1 && least == largest && largest != 0) {
      return absl::InternalError("an expected output is everywhere the same");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PackagedModel> LoadStep(const fs::path& file, const Graph& graph) {
  auto samples = ReadSafetensors(fs::path(file).replace_extension("safetensors").string());
  if (!samples.ok() && !absl::IsNotFound(samples.status())) return samples.status();
  auto inputs =
      samples.ok() ? SampledStepInputs(graph) : api::RandomStepInputs(graph, kSeed, kIntegerRange);
  if (!inputs.ok()) return inputs.status();
  PackagedModel model = {{{file.stem().string(), graph}}, *inputs, {}, {}};
  if (samples.ok()) {
    model.samples = *std::move(samples);
    return model;
  }
  auto expected = ByReference(graph, *inputs);
  if (!expected.ok()) return expected.status();
  model.expected = *std::move(expected);
  if (absl::Status s = CheckSound(model.expected); !s.ok()) return s;
  return model;
}

absl::StatusOr<PackagedModel> LoadInference(const fs::path& file, const Graph& unseeded) {
  auto graph = api::ReseedWeights(unseeded, kSeed);
  if (!graph.ok()) return graph.status();
  auto inputs = api::RandomInputs(*graph, kSeed, kIntegerRange);
  if (!inputs.ok()) return inputs.status();
  auto expected = ExpectedOf(fs::path(file).replace_extension("expected"), graph->outputs().size());
  if (!expected.ok()) return expected.status();
  if (absl::Status s = CheckSound(*expected); !s.ok()) return s;
  return PackagedModel{{{file.stem().string(), *graph}}, *inputs, *expected, {}};
}

absl::Status AddOptimized(const std::string& step, PackagedModel* model) {
  const std::string path = absl::StrCat(absl::StripSuffix(step, ".pb"), ".optimized.pb");
  if (!fs::exists(path)) return absl::OkStatus();
  auto optimized = api::LoadModel(path);
  if (!optimized.ok()) return optimized.status();
  model->variants.push_back({fs::path(path).stem().string(), optimized->graph});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PackagedFiles(const std::string& folder,
                                                       const std::vector<std::string>& only) {
  std::vector<std::string> files;
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/models", error)) {
    const std::string name = NameOf(entry.path());
    if (name.empty() || (!only.empty() && !absl::c_linear_search(only, name))) continue;
    files.push_back(entry.path().string());
    found.push_back(name);
  }
  for (const std::string& name : only) {
    if (!absl::c_linear_search(found, name)) {
      return absl::NotFoundError(absl::StrCat(folder, "/models: has no ", name));
    }
  }
  if (files.empty()) return absl::NotFoundError(absl::StrCat(folder, "/models: has no model"));
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<PackagedModel> LoadPackaged(const std::string& file) {
  auto loaded = api::LoadModel(file);
  if (!loaded.ok()) return loaded.status();
  const bool step = absl::EndsWith(file, ".step.pb");
  auto model = step ? LoadStep(file, loaded->graph) : LoadInference(file, loaded->graph);
  if (!model.ok()) return api::Prefixed(file, model.status());
  if (absl::Status s = step ? AddOptimized(file, &*model) : absl::OkStatus(); !s.ok()) return s;
  return model;
}

absl::StatusOr<std::vector<Tensor>> SampledStepInputs(const Graph& graph) {
  auto inputs = api::RandomStepInputs(graph, kSeed, kIntegerRange);
  if (!inputs.ok()) return inputs;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const std::string& name = graph.input_names()[i];
    const TensorType& type = graph.inputs()[i].type();
    const bool momentum = absl::EndsWith(name, ".m");
    if (!momentum && name != "lr") continue;
    auto filled = Tensor::Filled(type, momentum ? 0 : 1000);
    if (!filled.ok()) return filled.status();
    (*inputs)[i] = *std::move(filled);
  }
  return inputs;
}

absl::StatusOr<PackagedDifference> CompareWithExpected(const PackagedModel& model,
                                                       const Graph& variant,
                                                       absl::Span<const Tensor> outputs) {
  if (model.samples.tensors.empty()) {
    return PackagedDifference{api::CompareOutputs(variant, outputs, model.expected), 0};
  }
  auto sampled = CompareSamples(variant, outputs, model.samples);
  if (!sampled.ok()) return sampled.status();
  return PackagedDifference{sampled->worst, sampled->beyond_tolerance};
}

}  // namespace lemma::gpu
