#include "runtime/cuda/cuda_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_plan.h"
#if HAVE_CUDA
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_executable.h"
#endif

namespace lemma {
namespace cuda {
namespace {

#if HAVE_CUDA

std::string Version() {
  auto device = OpenDevice();
  if (!device.ok()) return std::string(device.status().message());
  auto compiler = CompilerVersion();
  return absl::StrCat((*device)->name, " (sm_", (*device)->architecture, "), driver for CUDA ",
                      (*device)->driver_version / 1000, ".", (*device)->driver_version % 1000 / 10,
                      ", ", compiler.ok() ? *compiler : std::string(compiler.status().message()));
}

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, CudaPlan plan, int threads) {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  return LoadPlan(**device, graph, std::move(plan), threads);
}

#else

constexpr char kNotBuilt[] = "not built: there was no CUDA toolkit when this program was";

std::string Version() { return kNotBuilt; }

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph&, CudaPlan, int) {
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA device: the CUDA back end is ", kNotBuilt));
}

#endif

class CudaBackend : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  std::string version() const override { return Version(); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(graph, traits_);
    if (!plan.ok()) return plan.status();
    return Load(graph, *std::move(plan), options.threads);
  }

  absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions&) override {
    absl::StatusOr<CudaPlan> plan = PlanGraph(graph, traits_);
    if (!plan.ok()) return plan.status();
    return PlanSummary{static_cast<int>(plan->launches.size()), plan->memory,
                       plan->Describe(graph)};
  }

 private:
  NodeTraitsCache traits_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> MakeCudaBackend() { return std::make_unique<cuda::CudaBackend>(); }

}  // namespace lemma
