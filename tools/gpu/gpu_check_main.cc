// Runs all checks that need a GPU: every operator and packaged models on the CUDA back end against
// expected outputs, training against PyTorch's losses, times, and costs of kernels. Started by
// tools/gpu_check.
//
// Writes OUT/gpu.json, OUT/gpu_kernels.json (the slowest kernels of each model) and
// OUT/gpu_costs.txt. Exit status 0: all equal; 1: something differs or fails; 2: no device, or a
// wrong argument.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/execution/compare.h"
#include "api/execution/profile.h"
#include "api/execution/roofline.h"
#include "api/execution/timing.h"
#include "api/models/model_file.h"
#include "base/flags.h"
#include "base/json.h"
#include "graph/builder.h"
#include "graph/examples/op_examples.h"
#include "optimizer/cost/cost_text.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/reference/reference.h"
#include "tools/gpu/bandwidth.h"
#include "tools/gpu/loss_curve.h"
#include "tools/gpu/packaged_models.h"

namespace lemma::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDeviceRuns = 30;
constexpr size_t kKernelsShown = 40;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct CheckFlags {
  std::string folder, out;
  bool operators_only = false;
  bool curves_only = false;
  bool trial = false;
  std::vector<std::string> models;
};

// An example of the operator table as a graph.
struct Example {
  std::string name;
  Graph graph;
  std::vector<Tensor> inputs;
};

absl::StatusOr<Example> MakeExample(const OpExample& example) {
  GraphBuilder builder("example");
  std::vector<Value> operands;
  std::vector<Tensor> inputs;
  const auto values = ExampleValues(example);
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    operands.push_back(builder.Input(absl::StrCat("x", i), example.inputs[i]));
    inputs.push_back(*Tensor::FromDoubles(example.inputs[i], values[i]));
  }
  auto results = builder.Ops(example.op->name, operands, example.attrs);
  if (!results.ok()) return results.status();
  for (size_t k = 0; k < results->size(); ++k) {
    builder.Output(absl::StrCat("y", k), (*results)[k]);
  }
  auto graph = std::move(builder).Build();
  if (!graph.ok()) return graph.status();
  return Example{absl::StrCat(example.op->name, " ", example.text), *std::move(graph),
                 std::move(inputs)};
}

absl::StatusOr<std::vector<Tensor>> Outputs(Backend* backend, const Graph& graph,
                                            const std::vector<Tensor>& inputs) {
  auto executable = backend->Compile(graph, {});
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(inputs);
}

class GpuCheck {
 public:
  explicit GpuCheck(const CheckFlags& flags)
      : flags_(flags),
        cuda_(flags.trial ? MakeReferenceBackend() : MakeCudaBackend()),
        generated_(flags.trial ? MakeReferenceBackend() : MakeCudaBackend({/*libraries=*/false})) {}

  int Run() {
    auto roofline = api::MeasureRoofline(cuda_.get(), {});
    if (!roofline.ok()) {
      std::fprintf(stderr, "gpu_check: %s\n", std::string(roofline.status().message()).c_str());
      return 2;
    }
    roofline_ = *roofline;
    std::printf("device     %s\n", cuda_->version().c_str());
    std::printf("ceilings   %.0f Gflop/s in a matrix product, %.0f GB/s\n",
                roofline_.flops_per_second * 1e-9, roofline_.bytes_per_second * 1e-9);
    if (flags_.operators_only) {
      CheckOperators();
      return End();
    }
    Json report = Json::Object();
    report.Set("device", cuda_->version());
    report.Set("flops_per_second", roofline_.flops_per_second);
    report.Set("bytes_per_second", roofline_.bytes_per_second);
    if (flags_.curves_only) {
      report.Set("curves", CheckCurves()).Set("failures", failures_);
      Write("gpu.json", report.ToString() + "\n");
      return End();
    }
    BeginLoading();
    report.Set("operators", CheckOperators());
    const std::vector<PackagedModel> models = Loaded();
    report.Set("elementwise", CheckBandwidth());
    report.Set("models", CheckModels(models));
    if (flags_.models.empty()) report.Set("curves", CheckCurves());
    report.Set("failures", failures_);
    Write("gpu.json", report.ToString() + "\n");
    Write("gpu_kernels.json", kernels_.ToString() + "\n");
    Write("gpu_costs.txt", MeasureCosts(models));
    return End();
  }

 private:
  int End() const {
    std::printf(failures_ == 0 ? "all green\n" : "%d failures\n", failures_);
    return failures_ == 0 ? 0 : 1;
  }

  void Write(const std::string& name, const std::string& text) {
    const absl::Status s = api::WriteText(absl::StrCat(flags_.out, "/", name), text);
    if (!s.ok()) Fail(name, s.message());
  }

  void Fail(const std::string& what, absl::string_view why) {
    ++failures_;
    std::printf("FAILED     %s: %s\n", what.c_str(), std::string(why).c_str());
  }

  // Compiles on all processors in advance: NVRTC takes most of the time.
  void Warm(const char* what, const std::vector<Graph>& graphs) {
    if (flags_.trial) return;
    const auto start = Clock::now();
    const absl::Status s = CompileAhead(graphs);
    if (!s.ok()) Fail(what, s.message());
    std::printf("compiled   %s in %.1f s\n", what, MsSince(start) * 1e-3);
  }

  // Compares every example of the operator table with the reference back end.
  Json CheckOperators() {
    const int before = failures_;
    std::vector<Example> examples;
    std::vector<Graph> graphs;
    for (const OpExample& op_example : AllExamples()) {
      auto example = MakeExample(op_example);
      if (!example.ok()) {
        Fail(op_example.op->name, example.status().message());
        continue;
      }
      graphs.push_back(example->graph);
      examples.push_back(*std::move(example));
    }
    Warm("operators", graphs);
    for (const Example& example : examples) CheckExample(example);
    std::printf("operators  %d examples, %d failed\n", static_cast<int>(examples.size()),
                failures_ - before);
    Json json = Json::Object();
    json.Set("examples", static_cast<int64_t>(examples.size())).Set("failed", failures_ - before);
    return json;
  }

  void CheckExample(const Example& example) {
    auto expected = Outputs(MakeReferenceBackend().get(), example.graph, example.inputs);
    auto actual = Outputs(cuda_.get(), example.graph, example.inputs);
    if (!expected.ok() || !actual.ok()) {
      Fail(example.name, (expected.ok() ? actual : expected).status().message());
      return;
    }
    const api::OutputDifference d = api::CompareOutputs(example.graph, *actual, *expected);
    if (!d.ok) Fail(example.name, absl::StrCat("differs by ", d.largest, ", allowed ", d.allowed));
  }

  Json CheckBandwidth() {
    Json json = Json::Array();
    auto rows = MeasureBandwidth(cuda_.get(), int64_t{1} << (flags_.trial ? 16 : 26));
    if (!rows.ok()) {
      Fail("element-wise", rows.status().message());
      return json;
    }
    for (const BandwidthRow& row : *rows) {
      Json one = Json::Object();
      one.Set("kernel", row.name).Set("bytes", row.bytes).Set("ms", row.ms);
      one.Set("copy_ms", row.copy_ms);
      json.Add(std::move(one));
      if (row.ms <= 0) continue;
      std::printf("%-40s %9.3f ms %7.0f GB/s, a copy %7.0f GB/s: %3.0f%%\n", row.name.c_str(),
                  row.ms, row.bytes / row.ms * 1e-6, row.bytes / row.copy_ms * 1e-6,
                  100 * row.copy_ms / row.ms);
    }
    return json;
  }

  // Draws weights and computes references while the device runs operators.
  void BeginLoading() {
    auto files = PackagedFiles(flags_.folder, flags_.models);
    if (!files.ok()) {
      Fail("models", files.status().message());
      return;
    }
    files_ = *std::move(files);
    for (const std::string& file : files_) {
      loading_.push_back(std::async(std::launch::async, [file] { return LoadPackaged(file); }));
    }
  }

  std::vector<PackagedModel> Loaded() {
    const auto start = Clock::now();
    std::vector<PackagedModel> models;
    std::vector<Graph> graphs;
    for (size_t i = 0; i < files_.size(); ++i) {
      auto model = loading_[i].get();
      if (!model.ok()) {
        Fail(files_[i], model.status().message());
        continue;
      }
      for (const Variant& variant : model->variants) graphs.push_back(variant.graph);
      models.push_back(*std::move(model));
    }
    std::printf("loaded     %d models, %.1f s more\n", static_cast<int>(models.size()),
                MsSince(start) * 1e-3);
    Warm("models", graphs);
    return models;
  }

  Json CheckModels(const std::vector<PackagedModel>& models) {
    std::printf("%-40s %7s %9s %9s %9s %9s %8s %8s %5s %6s\n", "model", "kernels", "device ms",
                "run ms", "cold ms", "kernel ms", "peak MB", "compile", "roof", "MFU");
    Json rows = Json::Array();
    for (const PackagedModel& model : models) {
      for (const Variant& variant : model.variants) {
        for (Backend* backend : {cuda_.get(), generated_.get()}) {
          Json row = Json::Object();
          const absl::Status s = CheckVariant(model, variant, backend, &row);
          if (!s.ok()) {
            Fail(variant.name, s.message());
            row.Set("error", s.message());
          }
          rows.Add(std::move(row));
        }
      }
    }
    return rows;
  }

  absl::Status CheckVariant(const PackagedModel& model, const Variant& variant, Backend* backend,
                            Json* json) {
    const bool libraries = backend == cuda_.get();
    const std::string name = absl::StrCat(variant.name, libraries ? "" : ", generated");
    json->Set("model", name);
    const auto start = Clock::now();
    auto executable = backend->Compile(variant.graph, {});
    const double compile_ms = MsSince(start);
    if (!executable.ok()) return executable.status();
    const auto cold = Clock::now();
    auto outputs = (*executable)->Run(model.inputs);
    const double cold_ms = MsSince(cold);
    if (!outputs.ok()) return outputs.status();
    // The state of a step is copied to the host and back each time.
    const bool step = model.inputs.size() > 10;
    auto run_ms = api::TimeRuns(executable->get(), model.inputs, flags_.trial ? 1 : step ? 5 : 20);
    if (!run_ms.ok()) return run_ms.status();
    auto device_ms = (*executable)->TimeRuns(model.inputs, kDeviceRuns);
    if (absl::IsUnimplemented(device_ms.status())) device_ms = std::vector<double>();
    if (!device_ms.ok()) return device_ms.status();
    auto rows = api::ProfileRuns(executable->get(), model.inputs, flags_.trial ? 1 : 10);
    if (!rows.ok()) return rows.status();
    if (libraries) Keep(name, *rows);
    const api::ProfileTotals totals = api::TotalsOf(*rows, roofline_);
    const MemoryUse memory = (*executable)->memory();
    json->Set("device_ms", api::Median(*device_ms));
    json->Set("run_ms", api::Median(*run_ms)).Set("cold_ms", cold_ms);
    json->Set("kernel_ms", totals.ms).Set("kernels", static_cast<int64_t>(rows->size()));
    json->Set("flops", totals.work.flops);
    json->Set("bytes", totals.work.bytes_read + totals.work.bytes_written);
    json->Set("compile_ms", compile_ms).Set("peak_bytes", memory.planned_bytes);
    json->Set("roof", totals.roof).Set("mfu", totals.mfu);
    std::printf("%-40s %7d %9.3f %9.3f %9.3f %9.3f %8.1f %8.0f %4.0f%% %5.1f%%\n", name.c_str(),
                static_cast<int>(rows->size()), api::Median(*device_ms), api::Median(*run_ms),
                cold_ms, totals.ms, static_cast<double>(memory.planned_bytes) * 1e-6, compile_ms,
                100 * totals.roof, 100 * totals.mfu);
    return Compare(model, variant, *outputs, json);
  }

  absl::Status Compare(const PackagedModel& model, const Variant& variant,
                       const std::vector<Tensor>& outputs, Json* json) {
    auto difference = CompareWithExpected(model, variant.graph, outputs);
    if (!difference.ok()) return difference.status();
    const api::OutputDifference& d = difference->worst;
    json->Set("equal", d.ok).Set("difference", d.largest).Set("allowed", d.allowed);
    json->Set("beyond_tolerance", difference->beyond_tolerance);
    if (difference->beyond_tolerance > 0) {
      std::printf(
          "  %d of %d outputs differ by more than rounding on one side of a discontinuity does; "
          "the worst, %s, by %.2g of %.2g\n",
          difference->beyond_tolerance, static_cast<int>(outputs.size()), d.output.c_str(),
          d.largest, d.allowed);
    }
    if (d.ok) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(d.output, " differs by ", d.largest, ", allowed ", d.allowed));
  }

  // Runs packaged training and compares its losses with PyTorch's.
  Json CheckCurves() {
    std::vector<LossCurve> curves;
    std::vector<Graph> graphs;
    const std::vector<std::string> folders = CurveFolders(flags_.folder);
    if (folders.empty()) {
      // A package of selected models has no curves.
      std::printf("curves     none in %s\n", flags_.folder.c_str());
      if (flags_.curves_only) Fail("curves", "there is nothing to do");
    }
    for (const std::string& folder : folders) {
      auto curve = LoadCurve(folder);
      if (!curve.ok()) {
        Fail(folder, curve.status().message());
        continue;
      }
      for (const Variant& variant : curve->variants) graphs.push_back(variant.graph);
      curves.push_back(*std::move(curve));
    }
    Warm("curves", graphs);
    Json rows = Json::Array();
    for (const LossCurve& curve : curves) {
      for (const Variant& variant : curve.variants) {
        for (Backend* backend : {cuda_.get(), generated_.get()}) {
          Json row = Json::Object();
          const std::string name =
              absl::StrCat(variant.name, backend == cuda_.get() ? "" : ", generated");
          row.Set("curve", name);
          if (const absl::Status s = CheckCurve(curve, variant, backend, name, &row); !s.ok()) {
            Fail(name, s.message());
            row.Set("error", s.message());
          }
          rows.Add(std::move(row));
        }
      }
    }
    return rows;
  }

  static absl::Status CheckCurve(const LossCurve& curve, const Variant& variant, Backend* backend,
                                 const std::string& name, Json* json) {
    auto run = RunCurve(curve, variant.graph, backend);
    if (!run.ok()) return run.status();
    const CurveDifference d = CompareCurve(curve, run->losses);
    const int steps = static_cast<int>(run->losses.size());
    json->Set("steps", steps).Set("equal", d.step == 0).Set("relative", d.relative);
    json->Set("relative_of_f32", d.relative_of_f32).Set("step_ms", run->step_ms);
    std::printf(
        "%-40s %d steps, loss %.4f to %.4f, off by %.1e of itself, PyTorch's own f32 by %.1e; "
        "%.3f ms a step\n",
        name.c_str(), steps, run->losses.front(), run->losses.back(), d.relative, d.relative_of_f32,
        run->step_ms);
    if (d.step == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the loss of step ", d.step, " is off by ",
                                            d.difference, ", allowed ", d.allowed));
  }

  // Keeps the slowest kernels, for people.
  void Keep(const std::string& name, std::vector<KernelTiming> rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const KernelTiming& a, const KernelTiming& b) { return a.ms > b.ms; });
    if (rows.size() > kKernelsShown) rows.resize(kKernelsShown);
    Json shown = Json::Array();
    for (const KernelTiming& row : rows) {
      Json one = Json::Object();
      one.Set("kernel", row.kernel).Set("value", row.label).Set("note", row.note);
      one.Set("signature", row.signature).Set("ms", row.ms).Set("flops", row.work.flops);
      one.Set("bytes", row.work.bytes_read + row.work.bytes_written);
      shown.Add(std::move(one));
    }
    kernels_.Set(name, std::move(shown));
  }

  // Measures every kernel of `models` as the search does, for `lemma costs import`.
  std::string MeasureCosts(const std::vector<PackagedModel>& models) {
    std::unique_ptr<KernelMeasurer> measurer = MakeCudaMeasurer();
    std::map<std::string, PlannedKernel> kernels;
    for (const PackagedModel& model : models) {
      for (const Variant& variant : model.variants) {
        auto plan = measurer->Plan(variant.graph);
        if (!plan.ok()) continue;  // CheckModels said why
        for (PlannedKernel& kernel : plan->kernels) kernels.emplace(kernel.signature, kernel);
      }
    }
    std::vector<PlannedKernel> list;
    for (const auto& [signature, kernel] : kernels) list.push_back(kernel);
    if (flags_.trial) return optimizer::PrintCosts({});
    if (absl::Status s = measurer->Prepare(list); !s.ok()) Fail("costs", s.message());
    std::vector<optimizer::CostEntry> entries;
    for (const PlannedKernel& kernel : list) {
      auto ms = measurer->MeasureMs(kernel);
      if (!ms.ok()) {
        Fail(kernel.signature, ms.status().message());
        continue;
      }
      const Work work = measurer->WorkOf(kernel);
      optimizer::MeasuredCost cost;
      cost.median_ms = *ms;
      cost.repetitions = 1;
      cost.flops = work.flops;
      cost.bytes = work.bytes_read + work.bytes_written;
      entries.push_back({measurer->device(), kernel.signature, cost});
    }
    std::printf("costs      of %d kernels\n", static_cast<int>(entries.size()));
    return optimizer::PrintCosts(std::move(entries));
  }

  const CheckFlags& flags_;
  std::unique_ptr<Backend> cuda_, generated_;
  std::vector<std::string> files_;
  std::vector<std::future<absl::StatusOr<PackagedModel>>> loading_;
  api::Roofline roofline_;
  Json kernels_ = Json::Object();
  int failures_ = 0;
};

int Main(absl::Span<const std::string> arguments) {
  CheckFlags check;
  Flags flags("gpu_check_main", "FOLDER OUT", "Checks and times the CUDA back end.");
  flags.List("models", &check.models, "X,...", "of FOLDER/models X.onnx and X.step.pb; all");
  flags.Bool("operators-only", &check.operators_only, "check the operator table, write nothing");
  flags.Bool("curves-only", &check.curves_only, "train and compare losses, nothing else");
  flags.Bool("reference", &check.trial,
             "let the reference stand for the device: a trial of this program");
  auto positional = flags.Parse(arguments);
  if (positional.ok() && flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return 0;
  }
  if (positional.ok() && positional->size() != 2) {
    positional = absl::InvalidArgumentError("needs FOLDER and OUT; see --help");
  }
  if (!positional.ok()) {
    std::fprintf(stderr, "gpu_check: %s\n", std::string(positional.status().message()).c_str());
    return 2;
  }
  check.folder = (*positional)[0];
  check.out = (*positional)[1];
  return GpuCheck(check).Run();
}

}  // namespace
}  // namespace lemma::gpu

int main(int argc, char** argv) {
  // Line-buffered, so that progress is visible in a file too.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  return lemma::gpu::Main(std::vector<std::string>(argv + 1, argv + argc));
}
