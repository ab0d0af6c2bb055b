// The back ends that this program was built with.
#ifndef LEMMA_CLI_BACKENDS_H_
#define LEMMA_CLI_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma::cli {

// The default first.
std::vector<std::string> BackendNames();
// InvalidArgument, with the names there are, for another one. `fuse_layout`: as of CpuOptions, for
// the back end "cpu" alone.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(absl::string_view name,
                                                     bool fuse_layout = true);
// nullptr if the back end's kernels cannot be measured one by one.
std::unique_ptr<KernelMeasurer> MakeMeasurer(absl::string_view backend, int threads,
                                             bool fuse_layout = true);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_BACKENDS_H_
