// What needs a GPU: every operator and packaged models on the CUDA back end against expected
// outputs, times, and costs of kernels. tools/gpu_check runs it.
//
// Usage: gpu_check_main FOLDER OUT [reference]
//
// FOLDER/models holds X.onnx (or .txt) with X.expected/output_0.pb, …, computed on the CPU from
// weights and inputs of seed 1; and steps of training X.step.pb, and X.step.optimized.pb, which are
// compared with what the reference computes here of the former. Each runs with cuBLASLt and with
// generated kernels alone. With `reference`, that back end stands for the device: a trial of this
// program. Writes OUT/gpu.json and OUT/gpu_costs.txt. Exit status 0: all
// equal; 1: something differs or fails; 2: no device.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/compare.h"
#include "cli/json.h"
#include "cli/model_file.h"
#include "cli/profile.h"
#include "cli/random_values.h"
#include "cli/roofline.h"
#include "graph/builder.h"
#include "graph/onnx/file.h"
#include "graph/onnx/tensor_proto.h"
#include "optimizer/cost_text.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/graph/op_examples.h"

namespace lemma {
namespace {

using cli::Json;
using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class GpuCheck {
 public:
  GpuCheck(std::string folder, std::string out, bool trial)
      : folder_(std::move(folder)),
        out_(std::move(out)),
        trial_(trial),
        cuda_(trial ? MakeReferenceBackend() : MakeCudaBackend()),
        generated_(trial ? MakeReferenceBackend() : MakeCudaBackend({/*libraries=*/false})) {}

  int Run() {
    auto roofline = cli::MeasureRoofline(cuda_.get(), {});
    if (!roofline.ok()) {
      std::fprintf(stderr, "gpu_check: %s\n", std::string(roofline.status().message()).c_str());
      return 2;
    }
    roofline_ = *roofline;
    std::printf("device     %s\n", cuda_->version().c_str());
    std::printf("ceilings   %.0f Gflop/s in a matrix product, %.0f GB/s\n",
                roofline_.flops_per_second * 1e-9, roofline_.bytes_per_second * 1e-9);
    Json operators = CheckOperators(), models = CheckModels();
    Json report = Json::Object();
    report.Set("device", cuda_->version());
    report.Set("flops_per_second", roofline_.flops_per_second);
    report.Set("bytes_per_second", roofline_.bytes_per_second);
    report.Set("operators", std::move(operators)).Set("models", std::move(models));
    report.Set("failures", failures_);
    Write("gpu.json", report.ToString() + "\n");
    Write("gpu_costs.txt", CostText());
    std::printf(failures_ == 0 ? "all green\n" : "%d failures\n", failures_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void Write(const std::string& name, const std::string& text) {
    const absl::Status s = cli::WriteText(absl::StrCat(out_, "/", name), text);
    if (!s.ok()) Fail(name, s.message());
  }

  void Fail(const std::string& what, absl::string_view why) {
    ++failures_;
    std::printf("FAILED     %s: %s\n", what.c_str(), std::string(why).c_str());
  }

  // Every example of the operator table against the reference.
  Json CheckOperators() {
    const int before = failures_;
    int checked = 0;
    for (const OpExample& example : AllExamples()) {
      const std::string what = absl::StrCat(example.op->name, " ", example.text);
      GraphBuilder builder("example");
      std::vector<Value> operands;
      std::vector<Tensor> inputs;
      const auto values = ExampleValues(example);
      for (size_t i = 0; i < example.inputs.size(); ++i) {
        operands.push_back(builder.Input(absl::StrCat("x", i), example.inputs[i]));
        inputs.push_back(*Tensor::FromDoubles(example.inputs[i], values[i]));
      }
      auto results = builder.Ops(example.op->name, operands, example.attrs);
      if (!results.ok()) {
        Fail(what, results.status().message());
        continue;
      }
      for (size_t k = 0; k < results->size(); ++k) {
        builder.Output(absl::StrCat("y", k), (*results)[k]);
      }
      const Graph graph = *std::move(builder).Build();
      auto expected = Outputs(MakeReferenceBackend().get(), graph, inputs);
      auto actual = Outputs(cuda_.get(), graph, inputs);
      ++checked;
      if (!expected.ok() || !actual.ok()) {
        Fail(what, (expected.ok() ? actual : expected).status().message());
        continue;
      }
      const cli::OutputDifference d = cli::CompareOutputs(graph, *actual, *expected);
      if (!d.ok) Fail(what, absl::StrCat("differs by ", d.largest, ", allowed ", d.allowed));
    }
    std::printf("operators  %d examples, %d failed\n", checked, failures_ - before);
    Json json = Json::Object();
    json.Set("examples", checked).Set("failed", failures_ - before);
    return json;
  }

  static absl::StatusOr<std::vector<Tensor>> Outputs(Backend* backend, const Graph& graph,
                                                     const std::vector<Tensor>& inputs) {
    auto executable = backend->Compile(graph, {});
    if (!executable.ok()) return executable.status();
    return (*executable)->Run(inputs);
  }

  Json CheckModels() {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/models", error)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::printf("%-40s %8s %9s %9s %9s %8s %8s %6s %6s\n", "model", "kernels", "run ms", "cold ms",
                "kernels", "peak MB", "compile", "roof", "MFU");
    Json models = Json::Array();
    for (const std::filesystem::path& file : files) {
      for (Backend* backend : {cuda_.get(), generated_.get()}) {
        Json model = Json::Object();
        const absl::Status s = CheckModel(file, backend, &model);
        if (!s.ok()) Fail(file.filename().string(), s.message());
        models.Add(std::move(model));
      }
    }
    return models;
  }

  // A model or step with what it is run on and what comes of it.
  struct Sample {
    Graph graph;
    std::vector<Tensor> inputs, expected;
  };

  absl::StatusOr<Sample> SampleOf(const std::filesystem::path& file) {
    const std::string name = file.stem().string();
    auto model = cli::LoadModel(file.string());
    if (!model.ok()) return model.status();
    if (file.extension() == ".pb") {
      const std::string step = name.substr(0, name.find(".step")) + ".step.pb";
      auto reference = ReferenceOf(file.parent_path() / step);
      if (!reference.ok()) return reference.status();
      return Sample{model->graph, (*reference)->inputs, (*reference)->expected};
    }
    auto graph = cli::ReseedWeights(model->graph, 1);
    if (!graph.ok()) return graph.status();
    auto inputs = cli::RandomInputs(*graph, 1, 2);
    if (!inputs.ok()) return inputs.status();
    Sample sample{*graph, *inputs, {}};
    for (size_t k = 0; k < graph->outputs().size(); ++k) {
      auto tensor = ReadTensorProto(
          absl::StrCat(file.parent_path().string(), "/", name, ".expected/output_", k, ".pb"));
      if (!tensor.ok()) return tensor.status();
      sample.expected.push_back(tensor->tensor);
    }
    return sample;
  }

  // A step of training by the reference, once for all that are compared with it.
  absl::StatusOr<const Sample*> ReferenceOf(const std::filesystem::path& step) {
    std::unique_ptr<Sample>& known = references_[step.string()];
    if (known != nullptr) return known.get();
    auto model = cli::LoadModel(step.string());
    if (!model.ok()) return model.status();
    auto inputs = cli::RandomStepInputs(model->graph, 1, 2);
    if (!inputs.ok()) return inputs.status();
    auto expected = Outputs(MakeReferenceBackend().get(), model->graph, *inputs);
    if (!expected.ok()) return expected.status();
    for (const Tensor& tensor : *expected) {
      if (tensor.type().dtype != DType::kF32) continue;
      for (float x : tensor.data<float>()) {
        if (!std::isfinite(x)) return absl::InternalError("the reference's values are not finite");
      }
    }
    known = std::make_unique<Sample>(Sample{model->graph, *inputs, *expected});
    return known.get();
  }

  absl::Status CheckModel(const std::filesystem::path& file, Backend* backend, Json* json) {
    const std::string name =
        absl::StrCat(file.stem().string(), backend == cuda_.get() ? "" : ", generated");
    auto sample = SampleOf(file);
    if (!sample.ok()) return sample.status();
    const auto start = Clock::now();
    auto executable = backend->Compile(sample->graph, {});
    const double compile_ms = MsSince(start);
    if (!executable.ok()) return executable.status();
    std::vector<double> ms;
    const int runs = trial_ ? 1 : 50, profiles = trial_ ? 1 : 15;
    absl::StatusOr<std::vector<Tensor>> outputs = absl::UnknownError("");
    for (int run = 0; run <= runs; ++run) {
      const auto at = Clock::now();
      outputs = (*executable)->Run(sample->inputs);
      if (!outputs.ok()) return outputs.status();
      ms.push_back(MsSince(at));
    }
    const double cold_ms = ms.front();
    ms.erase(ms.begin());
    std::vector<KernelTiming> rows;
    std::vector<std::vector<double>> row_ms;
    for (int run = 0; run < profiles; ++run) {
      auto timed = (*executable)->RunTimed(sample->inputs, &rows);
      if (!timed.ok()) return timed.status();
      row_ms.resize(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) row_ms[i].push_back(rows[i].ms);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].ms = Median(row_ms[i]);
      if (backend != cuda_.get()) continue;
      MeasuredCost& cost = costs_[rows[i].signature];
      cost.median_ms = rows[i].ms;
      cost.runs = profiles;
      cost.flops = rows[i].work.flops;
      cost.bytes = rows[i].work.bytes_read + rows[i].work.bytes_written;
    }
    const cli::ProfileTotals totals = cli::TotalsOf(rows, roofline_);
    const MemoryUse memory = (*executable)->memory();
    json->Set("model", name).Set("run_ms", Median(ms)).Set("cold_ms", cold_ms);
    json->Set("kernel_ms", totals.ms).Set("kernels", static_cast<int64_t>(rows.size()));
    json->Set("compile_ms", compile_ms).Set("peak_bytes", memory.planned_bytes);
    json->Set("roof", totals.roof).Set("mfu", totals.mfu);
    std::printf("%-40s %8d %9.3f %9.3f %9.3f %8.1f %8.0f %5.0f%% %5.1f%%\n", name.c_str(),
                static_cast<int>(rows.size()), Median(ms), cold_ms, totals.ms,
                static_cast<double>(memory.planned_bytes) * 1e-6, compile_ms, 100 * totals.roof,
                100 * totals.mfu);
    const cli::OutputDifference d = cli::CompareOutputs(sample->graph, *outputs, sample->expected);
    json->Set("equal", d.ok).Set("difference", d.largest).Set("allowed", d.allowed);
    if (d.ok) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("differs by ", d.largest, ", allowed ", d.allowed));
  }

  // For `lemma costs import`.
  std::string CostText() const {
    const std::string device = MakeCudaMeasurer()->device();
    std::vector<CostEntry> entries;
    for (const auto& [signature, cost] : costs_) entries.push_back({device, signature, cost});
    return PrintCosts(std::move(entries));
  }

  std::string folder_, out_;
  bool trial_;
  std::unique_ptr<Backend> cuda_, generated_;
  std::map<std::string, std::unique_ptr<Sample>> references_;
  cli::Roofline roofline_;
  std::map<std::string, MeasuredCost> costs_;
  int failures_ = 0;
};

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  const bool trial = argc == 4 && std::strcmp(argv[3], "reference") == 0;
  if (argc != 3 && !trial) {
    std::fprintf(stderr, "usage: gpu_check_main FOLDER OUT [reference]\n");
    return 2;
  }
  return lemma::GpuCheck(argv[1], argv[2], trial).Run();
}
