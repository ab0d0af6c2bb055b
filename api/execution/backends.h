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

// Lemma's own back ends; the default comes first.
std::vector<std::string> BackendNames();
// The other programs for which a model can be optimized. They are back ends too: MakeBackend and
// MakeMeasurer take their names. The memory that they use is not known.
std::vector<std::string> TargetNames();
bool IsTarget(absl::string_view backend);

struct BackendOptions {
  bool fuse_layout = true;  // see CpuOptions; for the back end "cpu"
  bool reuse_late = true;   // see CudaOptions; for "cuda" and "cuda-generated"
  // The precision of sums of products; for "cuda" and "cuda-generated".
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  OrtOptions ort;  // for the target "onnxruntime"
};
// The back end that executes a graph, and its options.
struct ExecutionOptions {
  std::string backend = BackendNames().front();
  int threads = 1;  // that a kernel may use on the CPU
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
// (api/models/option_error.h).
absl::Status CheckExecutionOptions(const ExecutionOptions& execution);

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const ExecutionOptions& execution);
CompileOptions CompileOptionsOf(const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_BACKENDS_H_
