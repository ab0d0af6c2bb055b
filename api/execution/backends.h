// The table of back ends by name, and the options of their execution.
#ifndef LEMMA_API_EXECUTION_BACKENDS_H_
#define LEMMA_API_EXECUTION_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/executor.h"
#include "runtime/measure.h"
#include "runtime/onnxruntime/ort_backend.h"

namespace lemma::api {

// The names of Lemma's own back ends; the default comes first.
std::vector<std::string> BackendNames();
// The names of other programs for which a model can be optimized. They are back ends too:
// MakeBackend and MakeMeasurer take their names. The memory that they use is not known.
std::vector<std::string> TargetNames();
// Whether this is a name of TargetNames().
bool IsTarget(absl::string_view backend);

// Each option concerns the back ends named; the others ignore it.
struct BackendOptions {
  bool fuse_layout = true;  // "cpu": as in CpuOptions (runtime/cpu/cpu_backend.h)
  bool reuse_late = true;  // "cuda", "cuda-generated": as in PlanOptions (runtime/cuda/cuda_plan.h)
  // "cuda", "cuda-generated": the precision of the factors in sums of products.
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  OrtOptions ort;  // "onnxruntime"
};
// The back end that executes a graph, and its options.
struct ExecutionOptions {
  std::string backend = BackendNames().front();  // of BackendNames() or TargetNames()
  int threads = 1;                               // that a kernel may use on the CPU, 1 … 1024
  BackendOptions kernels;
};
// The back end with this name. InvalidArgument, listing BackendNames(), if there is none.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name,
                                                     const BackendOptions& options = {});
// nullptr if there is no such back end, or if its kernels cannot be measured one by one.
std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             const BackendOptions& options = {});

// InvalidArgument if fuse_layout is false for a back end other than "cpu", if the precision is not
// f32 for a back end other than "cuda" and "cuda-generated", or if the number of threads is not in
// 1…1024; ResourceExhausted if the system cannot start so many threads; NotFound or
// FailedPrecondition if a target's library cannot be loaded. Messages name options
// (api/models/option_error.h). Does not check the back end's name; MakeBackend does.
absl::Status CheckExecutionOptions(const ExecutionOptions& execution);

// The back end that `execution` names, with its options.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const ExecutionOptions& execution);
CompileOptions CompileOptionsOf(const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_BACKENDS_H_
