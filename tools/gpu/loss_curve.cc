#include "tools/gpu/loss_curve.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "api/execution/timing.h"
#include "api/models/model_file.h"
#include "runtime/plan/schedule.h"
#include "runtime/stepper.h"

namespace lemma::gpu {
namespace {

namespace fs = std::filesystem;

absl::Status AddVariant(const std::string& file, const std::string& name, LossCurve* curve) {
  auto loaded = api::LoadModel(file);
  if (!loaded.ok()) return loaded.status();
  curve->variants.push_back({name, loaded->graph});
  return absl::OkStatus();
}

absl::Status ReadLosses(const std::string& file, LossCurve* curve) {
  auto losses = ReadSafetensors(file);
  if (!losses.ok()) return losses.status();
  auto read = [&](const char* name, std::vector<double>* values) {
    auto found = losses->tensors.find(name);
    if (found != losses->tensors.end()) *values = found->second.ToDoubles();
  };
  read("f64", &curve->expected);
  read("f32", &curve->in_f32);
  read("allowed", &curve->allowed);
  const size_t steps = curve->expected.size();
  if (steps == 0 || curve->in_f32.size() != steps || curve->allowed.size() != steps) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": needs f64, f32 and allowed, one number of each for every step"));
  }
  return absl::OkStatus();
}

// An input other than the state, with its values.
struct Fed {
  int input = 0;
  Tensor values;  // [batches, …], or a scalar
};

absl::StatusOr<Tensor> BatchOf(const Fed& fed, const TensorType& type, int step) {
  if (fed.values.type() == type) return fed.values;
  auto batch = Tensor::Allocate(type);
  if (!batch.ok()) return batch;
  const int64_t bytes = type.num_bytes();
  const char* batches = static_cast<const char*>(fed.values.raw());
  std::copy_n(batches + step % fed.values.shape()[0] * bytes, bytes,
              static_cast<char*>(batch->mutable_raw()));
  return batch;
}

bool Feeds(const Tensor& values, const TensorType& type) {
  const Shape& shape = values.shape();
  if (values.type() == type) return type.rank() == 0;
  return values.dtype() == type.dtype && !shape.empty() && shape[0] > 0 &&
         Shape(shape.begin() + 1, shape.end()) == type.shape;
}

// Returns the inputs to feed, and puts the state into `inputs`.
absl::StatusOr<std::vector<Fed>> Prepare(const LossCurve& curve, const Graph& step,
                                         std::vector<Tensor>* inputs) {
  std::vector<bool> is_state(step.inputs().size(), false);
  for (const StatePair& pair : StatePairs(step)) is_state[pair.input] = true;
  if (!absl::c_linear_search(is_state, true)) {
    return absl::InvalidArgumentError("the step has no state");
  }
  inputs->resize(step.inputs().size());
  std::vector<Fed> result;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const std::string& name = step.input_names()[i];
    const TensorType& type = step.inputs()[i].type();
    const auto& given = is_state[i] ? curve.state.tensors : curve.data.tensors;
    auto found = given.find(name);
    if (found == given.end()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": there are no values of it"));
    }
    const Tensor& values = found->second;
    if (is_state[i] ? values.type() != type : !Feeds(values, type)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": is ", values.type().ToString(),
                                                     ", the step needs ", type.ToString()));
    }
    if (is_state[i]) {
      (*inputs)[i] = values;
    } else {
      result.push_back({static_cast<int>(i), values});
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> CurveFolders(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/curves", error)) {
    folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

absl::StatusOr<LossCurve> LoadCurve(const std::string& folder) {
  LossCurve curve;
  const std::string name = fs::path(folder).filename().string();
  const std::string step = folder + "/step.pb", optimized = folder + "/step.optimized.pb";
  if (absl::Status s = AddVariant(step, name, &curve); !s.ok()) return s;
  if (fs::exists(optimized)) {
    absl::Status s = AddVariant(optimized, name + ".optimized", &curve);
    if (!s.ok()) return s;
  }
  auto state = ReadSafetensors(step + ".safetensors");
  if (!state.ok()) return state.status();
  auto data = ReadSafetensors(folder + "/data.safetensors");
  if (!data.ok()) return data.status();
  curve.state = *std::move(state);
  curve.data = *std::move(data);
  if (absl::Status s = ReadLosses(folder + "/losses.safetensors", &curve); !s.ok()) return s;
  return curve;
}

absl::StatusOr<CurveRun> RunCurve(const LossCurve& curve, const Graph& step, Backend* backend) {
  const auto loss = absl::c_find(step.output_names(), "loss");
  const auto loss_index = static_cast<size_t>(loss - step.output_names().begin());
  if (loss == step.output_names().end() || step.outputs()[loss_index].type().rank() != 0) {
    return absl::InvalidArgumentError("the step has no scalar output loss");
  }
  std::vector<Tensor> inputs;
  auto fed = Prepare(curve, step, &inputs);
  if (!fed.ok()) return fed.status();
  auto executable = backend->Compile(step, {});
  if (!executable.ok()) return executable.status();
  Stepper stepper(step, *std::move(executable));
  if (absl::Status s = stepper.SetState(inputs); !s.ok()) return s;
  CurveRun run;
  std::vector<double> ms;
  for (int k = 0; k < static_cast<int>(curve.expected.size()); ++k) {
    for (const Fed& one : *fed) {
      auto batch = BatchOf(one, step.inputs()[one.input].type(), k);
      if (!batch.ok()) return batch.status();
      inputs[one.input] = *std::move(batch);
    }
    const auto start = std::chrono::steady_clock::now();
    auto outputs = stepper.Step(inputs);
    const auto end = std::chrono::steady_clock::now();
    if (!outputs.ok()) return outputs.status();
    ms.push_back(std::chrono::duration<double, std::milli>(end - start).count());
    run.losses.push_back((*outputs)[loss_index].AtDouble(0));
  }
  run.step_ms = api::Median(std::move(ms));
  return run;
}

CurveDifference CompareCurve(const LossCurve& curve, absl::Span<const double> losses) {
  CurveDifference result;
  for (size_t k = 0; k < losses.size(); ++k) {
    const double scale = std::max(std::fabs(curve.expected[k]), 1e-300);
    double off = std::fabs(losses[k] - curve.expected[k]);
    if (std::isnan(off)) off = HUGE_VAL;
    result.relative = std::max(result.relative, off / scale);
    result.relative_of_f32 =
        std::max(result.relative_of_f32, std::fabs(curve.in_f32[k] - curve.expected[k]) / scale);
    if (result.step != 0 || off <= curve.allowed[k]) continue;
    result.step = static_cast<int>(k) + 1;
    result.difference = off;
    result.allowed = curve.allowed[k];
  }
  return result;
}

}  // namespace lemma::gpu
