// CUDA C++ to machine code, by NVRTC, found when the program runs; results are kept on disk.
#ifndef LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
#define LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::cuda {

// Compiles `source` for sm_`architecture` into a cubin. `folder`, unless empty, keeps cubins under
// a hash of source, architecture and NVRTC's version, and is made if it does not exist. Of the
// NVRTCs that can be loaded the newest is taken, up to version `newest` of CUDA unless that is 0: a
// driver loads no machine code of a later one. FailedPrecondition if there is none; Internal with
// the compiler's messages if `source` does not compile. Needs no GPU.
absl::StatusOr<std::string> CompileCubin(const std::string& source, int architecture,
                                         const std::string& folder, int newest = 0);

// The same of each source, on `threads` threads, of which each compiles a source of its own.
absl::StatusOr<std::vector<std::string>> CompileCubins(const std::vector<std::string>& sources,
                                                       int architecture, const std::string& folder,
                                                       int newest, int threads);

// As many as the machine has processors: compiling is waited for.
int CompilerThreads();

// ~/.cache/lemma/cubins; empty without a home.
std::string CubinFolder();

// "NVRTC 13.0"; FailedPrecondition if there is none.
absl::StatusOr<std::string> CompilerVersion();

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
