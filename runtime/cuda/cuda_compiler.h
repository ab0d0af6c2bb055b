// Compiles CUDA C++ to machine code with NVRTC, which is loaded at run time, and caches results on
// disk.
#ifndef LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
#define LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::cuda {

// Compiles `source` for `architecture` (80 means sm_80; 90 means sm_90a) into a cubin. `folder`, if
// not empty, caches cubins under a hash of source, architecture and NVRTC's version; it is created
// if needed. Uses the newest NVRTC that can be loaded, up to the major CUDA version `newest` (0:
// any), since a driver cannot load machine code of a later version. FailedPrecondition if there is
// no such NVRTC; Internal with the compiler's messages if `source` does not compile. Needs no GPU.
absl::StatusOr<std::string> CompileCubin(const std::string& source, int architecture,
                                         const std::string& folder, int newest = 0);

// Compiles several sources on `threads` threads, one source per thread at a time. Returns the
// cubins in the order of the sources, or the error of the first source that does not compile.
absl::StatusOr<std::vector<std::string>> CompileCubins(const std::vector<std::string>& sources,
                                                       int architecture, const std::string& folder,
                                                       int newest, int threads);

// The number of threads to compile on: all processors, since the caller waits.
int CompilerThreads();

// The folder in which the CUDA back end caches cubins: $HOME/.cache/lemma/cubins; empty if HOME is
// unset or empty.
std::string CubinFolder();

// The version of the newest NVRTC, such as "NVRTC 13.0"; FailedPrecondition if there is no NVRTC.
absl::StatusOr<std::string> CompilerVersion();

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
