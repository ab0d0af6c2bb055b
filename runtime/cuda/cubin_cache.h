// Caches compiled kernels on disk. Needs no CUDA.
#ifndef LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_
#define LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace lemma::cuda {

// The cubin stored under `key`, in the file KEY.cubin of `folder`; nullopt if there is none or if
// its file is damaged.
std::optional<std::string> CachedCubin(const std::string& folder, const std::string& key);

// Stores a cubin under `key`; creates the folder if needed. Ignores errors, since the cache is
// optional.
void KeepCubin(const std::string& folder, const std::string& key, absl::string_view cubin);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUBIN_CACHE_H_
