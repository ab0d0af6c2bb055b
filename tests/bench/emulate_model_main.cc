// Executes a model on the host with its CUDA kernels, and measures how far the outputs are from
// f64.
//
//   emulate_model MODEL [--precision=NAME,…] [--architecture=80|90,…]
//
// The kernels are those of the plan for each precision and architecture, compiled for the grid
// emulator (tests/kernels/codegen/grid_emulator.h). The inputs are those of `lemma precision
// --seed=1`, so the errors can be compared with the errors that it measures with rounded factors on
// the CPU. Prints a line of JSON for each plan; notes go to standard error. Needs no GPU. Run it in
// the repository's root, where the emulator's header is.
//
// Exit status: 0; 1 if an output is farther from f64 than `lemma run --expect` allows; 2 for other
// errors.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/precision/errors.h"
#include "base/status_macros.h"
#include "kernels/codegen/product_precision.h"
#include "tests/runtime/cuda/emulated_plans.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;

struct Flags {
  std::string model;
  std::vector<ProductPrecision> precisions{std::begin(codegen::kRoundingPrecisions),
                                           std::end(codegen::kRoundingPrecisions)};
  std::vector<int> architectures{80, 90};
};

absl::StatusOr<Flags> Parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--precision=")) {
      flags.precisions.clear();
      for (absl::string_view name : absl::StrSplit(arg, ',')) {
        const auto precision = codegen::ParseProductPrecision(name);
        if (!precision) return absl::InvalidArgumentError(absl::StrCat("no precision ", name));
        flags.precisions.push_back(*precision);
      }
    } else if (absl::ConsumePrefix(&arg, "--architecture=")) {
      flags.architectures.clear();
      for (absl::string_view number : absl::StrSplit(arg, ',')) {
        int architecture = 0;
        if (!absl::SimpleAtoi(number, &architecture)) {
          return absl::InvalidArgumentError(absl::StrCat("no architecture ", number));
        }
        flags.architectures.push_back(architecture);
      }
    } else if (flags.model.empty() && !absl::StartsWith(arg, "--")) {
      flags.model = std::string(arg);
    } else {
      return absl::InvalidArgumentError(
          "usage: emulate_model MODEL [--precision=NAME,…] [--architecture=80|90,…]");
    }
  }
  if (flags.model.empty()) return absl::InvalidArgumentError("no model");
  return flags;
}

// A number of JSON, which has no infinities.
std::string Number(double x) { return std::isfinite(x) ? absl::StrFormat("%.9g", x) : "null"; }

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What a run of the plan does: equal for plans that compute the same bits in the same memory.
std::string KeyOf(const cuda::CudaPlan& plan) {
  std::string key;
  for (const cuda::Launch& launch : plan.launches) {
    if (!plan.IsCopy(launch)) {
      const codegen::GridKernel& kernel = plan.KernelOf(launch);
      absl::StrAppend(&key, kernel.name, " ", kernel.blocks, "x", kernel.threads);
    }
    for (int b : plan.Arguments(launch)) {
      absl::StrAppend(&key, " ", static_cast<int>(plan.buffers[b].kind), ":",
                      plan.buffers[b].offset);
    }
    absl::StrAppend(&key, "; ", absl::StrJoin(launch.after, ","), "\n");
  }
  return key;
}

// Returns whether all outputs are as close to f64 as they must be.
absl::StatusOr<bool> Emulate(const Flags& flags) {
  LEMMA_ASSIGN_OR_RETURN(const api::Model model, api::LoadModel(flags.model));
  LEMMA_ASSIGN_OR_RETURN(const api::WideRun wide, api::RunInF64(model, {}, /*threads=*/1));
  std::fprintf(stderr, "f64: %.1f s\n", wide.seconds);
  EmulatedPlans plans;
  std::vector<std::pair<int, ProductPrecision>> kinds;
  for (int architecture : flags.architectures) {
    for (ProductPrecision precision : flags.precisions) {
      cuda::PlanOptions options;
      options.grid.precision = precision;
      options.grid.architecture = architecture;
      LEMMA_RETURN_IF_ERROR(plans.Add(model.graph, options));
      kinds.emplace_back(architecture, precision);
    }
  }
  const Stopwatch compilation;
  LEMMA_RETURN_IF_ERROR(plans.Compile(/*run_long=*/true));
  std::fprintf(stderr, "compiled in %.1f s\n", compilation.Seconds());
  bool within = true;
  // By KeyOf: plans of two architectures may be equal.
  std::map<std::string, api::PrecisionRow> rows;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Stopwatch run;
    api::PrecisionRow& row = rows[KeyOf(plans.plan(i))];
    if (row.errors.empty()) {
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                             plans.Run(i, wide.inputs, /*seed=*/1));
      row.precision = kinds[i].second;
      api::AddErrors(model.graph, outputs, wide.expected, &row);
    }
    within = within && row.tolerance_used <= 1;
    std::printf(
        "{\"architecture\": %d, \"precision\": \"%s\", \"launches\": %zu, \"largest\": %s, "
        "\"relative\": %s, \"tolerance_used\": %s, \"seconds\": %.1f}\n",
        kinds[i].first, Name(kinds[i].second), plans.plan(i).launches.size(),
        Number(row.largest).c_str(), Number(row.relative).c_str(),
        Number(row.tolerance_used).c_str(), run.Seconds());
    std::fflush(stdout);
  }
  return within;
}

int Main(int argc, char** argv) {
  const auto flags = Parse(argc, argv);
  const auto within = flags.ok() ? Emulate(*flags) : flags.status();
  if (within.ok()) return *within ? 0 : 1;
  std::fprintf(stderr, "%s\n", within.status().ToString().c_str());
  return 2;
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) { return lemma::Main(argc, argv); }
