#include "runtime/cuda/cuda_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_plan.h"
#if HAVE_CUDA
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_executable.h"
#endif

namespace lemma {
namespace cuda {
namespace {

#if HAVE_CUDA

std::string Version(const CudaOptions& options) {
  auto device = OpenDevice();
  if (!device.ok()) return std::string(device.status().message());
  auto compiler = CompilerVersion();
  auto cublas = CublasVersion((*device)->driver_version / 1000);
  return absl::StrCat((*device)->name, " (sm_", (*device)->architecture, "), driver for CUDA ",
                      (*device)->driver_version / 1000, ".", (*device)->driver_version % 1000 / 10,
                      ", ", compiler.ok() ? *compiler : std::string(compiler.status().message()),
                      options.libraries && cublas.ok() ? ", " + *cublas : "");
}

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, CudaPlan plan, int threads,
                                                 const CudaOptions& options) {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  return LoadPlan(**device, graph, std::move(plan), threads, options.libraries);
}

#else

constexpr char kNotBuilt[] = "not built: there was no CUDA toolkit when this program was";

std::string Version(const CudaOptions&) { return kNotBuilt; }

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph&, CudaPlan, int, const CudaOptions&) {
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA device: the CUDA back end is ", kNotBuilt));
}

#endif

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options) : options_(options) {}

  std::string name() const override { return "cuda"; }
  std::string version() const override { return Version(options_); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(graph, traits_);
    if (!plan.ok()) return plan.status();
    return Load(graph, *std::move(plan), options.threads, options_);
  }

  absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions&) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(graph, traits_);
    if (!plan.ok()) return plan.status();
    return PlanSummary{static_cast<int>(plan->launches.size()), plan->memory,
                       plan->Describe(graph)};
  }

 private:
  const CudaOptions options_;
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> MakeCudaBackend(const CudaOptions& options) {
  return std::make_unique<cuda::CudaBackend>(options);
}

}  // namespace lemma
