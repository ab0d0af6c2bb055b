// CUDA C++ to machine code, by NVRTC, found when the program runs; results are kept on disk.
#ifndef LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
#define LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_

#include <string>

#include "absl/status/statusor.h"

namespace lemma::cuda {

// Compiles `source` for sm_`architecture` into a cubin. `folder`, unless empty, keeps cubins under
// a hash of source, architecture and NVRTC's version, and is made if it does not exist.
// FailedPrecondition if there is no NVRTC; Internal with the compiler's messages if `source` does
// not compile. Needs no GPU.
absl::StatusOr<std::string> CompileCubin(const std::string& source, int architecture,
                                         const std::string& folder);

// ~/.cache/lemma/cubins; empty without a home.
std::string CubinFolder();

// "NVRTC 13.0"; FailedPrecondition if there is none.
absl::StatusOr<std::string> CompilerVersion();

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_COMPILER_H_
