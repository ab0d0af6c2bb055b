// Times one ONNX model on the CPU back end, kernel by kernel, and compares with expected values.
//
//   run_model MODEL [--threads=N] [--runs=N] [--table] [--plan] [--input=RAW]… [--expect=RAW]
//
// RAW files hold the tensor's bytes alone. Without --input floats are random and integers count up.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "graph/onnx/import.h"
#include "runtime/cpu/cpu_backend.h"

namespace lemma {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Flags {
  std::string model, expect;
  std::vector<std::string> inputs;
  int threads = 1, runs = 20;
  bool table = false, plan = false;
};

Flags Parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--threads=")) {
      (void)absl::SimpleAtoi(arg, &flags.threads);
    } else if (absl::ConsumePrefix(&arg, "--runs=")) {
      (void)absl::SimpleAtoi(arg, &flags.runs);
    } else if (absl::ConsumePrefix(&arg, "--input=")) {
      flags.inputs.emplace_back(arg);
    } else if (absl::ConsumePrefix(&arg, "--expect=")) {
      flags.expect = std::string(arg);
    } else if (arg == "--table") {
      flags.table = true;
    } else if (arg == "--plan") {
      flags.plan = true;
    } else {
      flags.model = std::string(arg);
    }
  }
  return flags;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::StatusOr<std::vector<Tensor>> Inputs(const Graph& graph, const Flags& flags) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    absl::StatusOr<Tensor> t = Tensor::Filled(graph.inputs()[i].type(), 1);
    if (!t.ok()) return t.status();
    if (i < flags.inputs.size()) {
      const std::string bytes = ReadBytes(flags.inputs[i]);
      if (static_cast<int64_t>(bytes.size()) != t->type().num_bytes()) {
        return absl::InvalidArgumentError(flags.inputs[i] + " has another size than the input");
      }
      std::copy(bytes.begin(), bytes.end(), static_cast<char*>(t->mutable_raw()));
    } else if (t->dtype() == DType::kF32) {
      for (float& x : t->mutable_data<float>()) x = normal(random);
    }
    inputs.push_back(*std::move(t));
  }
  return inputs;
}

void Compare(const Tensor& result, const std::string& path) {
  const std::string bytes = ReadBytes(path);
  const float* expected = reinterpret_cast<const float*>(bytes.data());
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < result.size() && i * 4 < static_cast<int64_t>(bytes.size()); ++i) {
    scale = std::max<double>(scale, std::fabs(expected[i]));
    const double difference = std::fabs(result.AtDouble(i) - expected[i]);
    largest = difference > largest || std::isnan(difference) ? difference : largest;
  }
  std::printf("largest difference %.3g, largest value %.3g\n", largest, scale);
}

void PrintTable(const std::vector<std::vector<KernelTiming>>& runs) {
  std::map<std::string, std::pair<int, double>> by_kernel;
  std::printf("%9s  %-46s %-24s %s\n", "ms", "kernel", "value", "note");
  double total = 0;
  for (size_t k = 0; k < runs[0].size(); ++k) {
    std::vector<double> ms;
    for (const auto& run : runs) ms.push_back(run[k].ms);
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    const double median = ms[ms.size() / 2];
    const KernelTiming& row = runs[0][k];
    std::printf("%9.4f  %-46.46s %-24.24s %s\n", median, row.kernel.c_str(), row.label.c_str(),
                row.note.c_str());
    auto& sum = by_kernel[row.kernel + "  [" + row.note + "]"];
    ++sum.first;
    sum.second += median;
    total += median;
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, sum] : by_kernel) {
    sorted.push_back({sum.second, std::to_string(sum.first) + " x " + name});
  }
  std::sort(sorted.rbegin(), sorted.rend());
  std::printf("--- by kernel, total %.3f ms\n", total);
  for (const auto& [ms, name] : sorted) std::printf("%9.4f  %s\n", ms, name.c_str());
}

int Main(int argc, char** argv) {
  const Flags flags = Parse(argc, argv);
  auto model = ImportOnnx(flags.model);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().ToString().c_str());
    return 2;
  }
  CompileOptions options;
  options.threads = flags.threads;
  auto backend = MakeCpuBackend();
  auto measurer = MakeCpuMeasurer(flags.threads);
  for (int i = 0; i < 2; ++i) {
    const auto start = Clock::now();
    auto plan = measurer->Plan(model->graph);
    if (i == 1 && plan.ok()) {
      std::printf("plan of %d operators: %zu kernels in %.3f ms\n", model->graph.num_ops(),
                  plan->kernels.size(), MsSince(start));
    }
  }
  const auto start = Clock::now();
  auto executable = backend->Compile(model->graph, options);
  auto inputs = Inputs(model->graph, flags);
  if (!executable.ok() || !inputs.ok()) {
    std::fprintf(stderr, "%s %s\n", executable.status().ToString().c_str(),
                 inputs.status().ToString().c_str());
    return 2;
  }
  std::printf("%s\ncompiled in %.1f ms\n", backend->version().c_str(), MsSince(start));
  if (flags.plan) std::printf("%s", (*executable)->Describe().c_str());
  std::vector<double> times;
  std::vector<std::vector<KernelTiming>> tables;
  absl::StatusOr<std::vector<Tensor>> outputs;
  for (int run = 0; run < flags.runs + 2; ++run) {
    const auto from = Clock::now();
    outputs = (*executable)->Run(*inputs);
    if (!outputs.ok()) {
      std::fprintf(stderr, "%s\n", outputs.status().ToString().c_str());
      return 2;
    }
    if (run >= 2) times.push_back(MsSince(from));
    if (run < 2 || !flags.table) continue;
    tables.emplace_back();
    (void)(*executable)->RunTimed(*inputs, &tables.back());
  }
  std::sort(times.begin(), times.end());
  const MemoryUse memory = (*executable)->memory();
  if (flags.table) PrintTable(tables);
  std::printf("median %.3f ms, fastest %.3f ms; weights %.1f MB, arena %.1f MB (live %.1f)\n",
              times[times.size() / 2], times[0], memory.weight_bytes / 1e6,
              memory.planned_bytes / 1e6, memory.live_bytes / 1e6);
  if (!flags.expect.empty()) Compare((*outputs)[0], flags.expect);
  return 0;
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) { return lemma::Main(argc, argv); }
