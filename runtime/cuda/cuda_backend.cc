#include "runtime/cuda/cuda_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/store_factors.h"
#if HAVE_CUDA
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/cuda_compiler.h"
#include "runtime/cuda/cuda_copy.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_executable.h"
#endif

namespace lemma {
namespace cuda {
namespace {

// FailedPrecondition if a device of this architecture has no tensor cores for the precision.
absl::Status CheckPrecision(const CudaOptions& options, int architecture) {
  constexpr int kTensorCores = 80;  // mma.sync in all precisions
  const codegen::ProductPrecision precision = options.grid.precision;
  if (precision == codegen::ProductPrecision::kF32 || architecture >= kTensorCores) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("--precision=", Name(precision),
                                                    " needs tensor cores of sm_", kTensorCores,
                                                    " or newer; the device is sm_", architecture));
}

#if HAVE_CUDA

absl::StatusOr<CudaDeviceInfo> FindDevice() {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  const int architecture = (*device)->architecture;
  return CudaDeviceInfo{absl::StrCat((*device)->name, " (sm_", architecture, ")"), architecture};
}

std::string Version(const CudaOptions& options) {
  auto device = OpenDevice();
  if (!device.ok()) return std::string(device.status().message());
  auto compiler = CompilerVersion();
  auto cublas = CublasVersion((*device)->driver_version / 1000);
  return absl::StrCat(FindDevice()->name, ", driver for CUDA ", (*device)->driver_version / 1000,
                      ".", (*device)->driver_version % 1000 / 10, ", ",
                      compiler.ok() ? *compiler : std::string(compiler.status().message()),
                      options.libraries && cublas.ok() ? ", " + *cublas : "",
                      options.grid.precision == codegen::ProductPrecision::kF32
                          ? ""
                          : absl::StrCat(", products in precision ", Name(options.grid.precision)));
}

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph& graph, CudaPlan plan, int threads,
                                                 const CudaOptions& options) {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  if (absl::Status s = CheckPrecision(options, (*device)->architecture); !s.ok()) return s;
  return LoadPlan(**device, graph, std::move(plan), threads, options.libraries);
}

// That of the device, if there is one.
int ArchitectureOr(int otherwise) {
  auto device = OpenDevice();
  return device.ok() ? (*device)->architecture : otherwise;
}

// Kernel sets point into `plans`.
absl::Status CompileAll(const std::vector<CudaPlan>& plans, int architecture) {
  int newest = 0;
  if (architecture == 0) {
    auto device = OpenDevice();
    if (!device.ok()) return device.status();
    architecture = (*device)->architecture;
    newest = (*device)->driver_version / 1000;
  }
  std::vector<std::string> sources;
  for (const CudaPlan& plan : plans) {
    for (const KernelSet& set : KernelSetsOf(plan)) sources.push_back(codegen::SourceOf(set));
  }
  return CompileCubins(sources, architecture, CubinFolder(), newest, CompilerThreads()).status();
}

absl::StatusOr<std::vector<double>> TimeCopiesOf(int64_t bytes, int runs) {
  auto device = OpenDevice();
  if (!device.ok()) return device.status();
  return TimeCopies(**device, bytes, runs);
}

#else

constexpr char kNotBuilt[] = "not built: there was no CUDA toolkit when this program was";

absl::Status NotBuilt() {
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA device: the CUDA back end is ", kNotBuilt));
}

absl::StatusOr<CudaDeviceInfo> FindDevice() { return NotBuilt(); }

std::string Version(const CudaOptions&) { return kNotBuilt; }

absl::StatusOr<std::unique_ptr<Executable>> Load(const Graph&, CudaPlan, int, const CudaOptions&) {
  return NotBuilt();
}

int ArchitectureOr(int otherwise) { return otherwise; }

absl::Status CompileAll(const std::vector<CudaPlan>&, int) { return NotBuilt(); }

absl::StatusOr<std::vector<double>> TimeCopiesOf(int64_t, int) { return NotBuilt(); }

#endif

PlanOptions PlanOptionsOf(const CudaOptions& options, int architecture = 0) {
  PlanOptions result;
  result.grid = options.grid;
  result.grid.architecture =
      architecture > 0 ? architecture : ArchitectureOr(options.grid.architecture);
  result.reuse_late = options.reuse_late;
  return result;
}

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options) : options_(options) {}

  std::string name() const override { return "cuda"; }
  std::string version() const override { return Version(options_); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                      const CompileOptions& options) override {
    const PlanOptions plan_options = PlanOptionsOf(options_);
    const Graph stored = StoreFactors(graph, traits_, plan_options.grid);
    absl::StatusOr<CudaPlan> plan = PlanGraph(stored, traits_, plan_options);
    if (!plan.ok()) return plan.status();
    return Load(stored, *std::move(plan), options.threads, options_);
  }

  absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions&) override {
    const PlanOptions plan_options = PlanOptionsOf(options_);
    const Graph stored = StoreFactors(graph, traits_, plan_options.grid);
    absl::StatusOr<CudaPlan> plan = PlanGraph(stored, traits_, plan_options);
    if (!plan.ok()) return plan.status();
    return PlanSummary{static_cast<int>(plan->launches.size()), plan->memory,
                       plan->Describe(stored)};
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

absl::Status CompileAhead(absl::Span<const Graph> graphs, const CudaOptions& options,
                          int architecture) {
  NodeTraitsCache traits;
  std::vector<cuda::CudaPlan> plans;
  const cuda::PlanOptions plan_options = cuda::PlanOptionsOf(options, architecture);
  const absl::Status allowed = cuda::CheckPrecision(options, plan_options.grid.architecture);
  if (!allowed.ok()) return allowed;
  for (const Graph& graph : graphs) {
    absl::StatusOr<cuda::CudaPlan> plan =
        cuda::PlanGraph(cuda::StoreFactors(graph, traits, plan_options.grid), traits, plan_options);
    if (!plan.ok()) return plan.status();
    plans.push_back(*std::move(plan));
  }
  return cuda::CompileAll(plans, architecture);
}

absl::StatusOr<CudaDeviceInfo> FindCudaDevice() { return cuda::FindDevice(); }

absl::StatusOr<std::vector<double>> TimeDeviceCopies(int64_t bytes, int runs) {
  return cuda::TimeCopiesOf(bytes, runs);
}

}  // namespace lemma
