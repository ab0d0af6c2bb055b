// Checks the generated kernels of a CUDA plan.
#include "verifier/kernels/kernel_check.h"

#include <atomic>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/check.h"
#include "api/checking/program_parts.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "base/parallel.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/store_factors.h"

namespace lemma::api {
namespace {

using Kind = kernels::ProgramVerdict::Kind;

// Equal for steps whose kernels and whose meaning are equal.
std::string KeyOf(const cuda::CudaStep& step) {
  std::string key = step.signature;
  for (const NodePtr& node : step.nodes) {
    if (step.signature.empty()) absl::StrAppend(&key, " ", node->hash());
  }
  for (const codegen::GridKernel& kernel : step.program->kernels) {
    absl::StrAppend(&key, " ", kernel.name, " ", kernel.blocks, "x", kernel.threads, " ",
                    absl::StrJoin(kernel.reads, ","), ">", absl::StrJoin(kernel.writes, ","));
  }
  for (const auto& [from, to] : InPlace(step)) absl::StrAppend(&key, " ", from, "=", to);
  return key;
}

// Of this thread.
double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

CheckedProgram Check(const cuda::CudaStep& step, uint64_t seed,
                     codegen::ProductPrecision precision) {
  CheckedProgram result;
  result.operators = step.operators;
  result.kernels = static_cast<int>(step.program->kernels.size());
  result.schedule = absl::StrJoin(
      step.program->kernels, " + ",
      [](std::string* text, const auto& kernel) { absl::StrAppend(text, kernel.schedule); });
  kernels::ProgramCheckOptions options;
  options.seed = seed;
  options.precision = precision;
  options.in_place = InPlace(step);
  const double start = ProcessorSeconds();
  const kernels::ProgramVerdict verdict =
      kernels::CheckProgram(*step.program, PartsOf(step), options);
  result.seconds = ProcessorSeconds() - start;
  result.agrees = verdict.kind == Kind::kAgrees;
  result.wrong = verdict.kind == Kind::kWrong;
  result.reason = verdict.reason;
  return result;
}

}  // namespace

bool KernelCheck::all_agree() const {
  return std::all_of(programs.begin(), programs.end(),
                     [](const CheckedProgram& program) { return program.agrees; });
}

absl::StatusOr<KernelCheck> CheckKernels(const Graph& graph, const PlanCheckOptions& options) {
  if (options.threads < 1) return OptionError("option threads: must be at least 1");
  if (options.architecture != 80 && options.architecture != 90) {
    return OptionError("option architecture: must be 80 or 90");
  }
  if (options.compile) {
    CudaOptions ahead;
    ahead.grid.precision = options.precision;
    if (absl::Status s = CompileAhead({graph}, ahead, options.architecture); !s.ok()) return s;
  }
  NodeTraitsCache traits;
  cuda::PlanOptions plan_options;
  plan_options.reuse_late = true;
  plan_options.grid.precision = options.precision;
  plan_options.grid.architecture = options.architecture;
  auto plan =
      cuda::PlanGraph(cuda::StoreFactors(graph, traits, plan_options.grid), traits, plan_options);
  if (!plan.ok()) return plan.status();
  KernelCheck result;
  result.seed = options.seed ? *options.seed : DrawSeed();
  std::map<std::string, size_t> known;  // numbers of programs
  std::vector<const cuda::CudaStep*> steps;
  for (const cuda::CudaStep& step : plan->steps) {
    if (step.program == nullptr || step.program->kernels.empty()) continue;
    const auto [entry, is_new] = known.try_emplace(KeyOf(step), steps.size());
    if (is_new) {
      steps.push_back(&step);
      result.programs.emplace_back();
    } else {
      ++result.programs[entry->second].uses;
    }
  }
  std::atomic<size_t> next = 0;  // programs differ too much in time for ranges of equal length
  ParallelFor(options.threads, options.threads, [&](int64_t, int64_t) {
    for (size_t i = next++; i < steps.size(); i = next++) {
      const int uses = result.programs[i].uses;
      result.programs[i] = Check(*steps[i], result.seed, options.precision);
      result.programs[i].uses = uses;
    }
  });
  for (const CheckedProgram& program : result.programs) {
    if (!program.wrong) continue;
    result.problem = absl::StrCat(program.operators, ": ", program.reason);
    break;
  }
  return result;
}

}  // namespace lemma::api
