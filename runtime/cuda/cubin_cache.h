// Compiled kernels on disk. Needs no CUDA.
#ifndef LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_
#define LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace lemma::cuda {

// What was kept under `key`, a name of a file, or nothing: also where it is not, byte for byte,
// what was kept.
std::optional<std::string> CachedCubin(const std::string& folder, const std::string& key);

// A cache that cannot be written is no reason to fail.
void KeepCubin(const std::string& folder, const std::string& key, absl::string_view cubin);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_
