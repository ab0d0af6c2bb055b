// The back ends that this program was built with.
#ifndef LEMMA_API_EXECUTION_BACKENDS_H_
#define LEMMA_API_EXECUTION_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma::api {

// The default first.
std::vector<std::string> BackendNames();
struct BackendOptions {
  bool fuse_layout = true;  // as of CpuOptions, for the back end "cpu"
  bool reuse_late = true;   // as of CudaOptions, for "cuda" and "cuda-generated"
};
// What executes a graph, and how.
struct ExecutionOptions {
  std::string backend = BackendNames().front();
  int threads = 1;  // inside a kernel
  BackendOptions kernels;
};
// InvalidArgument, with the names there are, for another one.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name,
                                                     const BackendOptions& options = {});
// nullptr if the back end's kernels cannot be measured one by one.
std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             const BackendOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_BACKENDS_H_
