// Whole files in and out.
#ifndef LEMMA_GRAPH_ONNX_FILE_H_
#define LEMMA_GRAPH_ONNX_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

// NotFound or InvalidArgument, with the path and the system's reason, if `path` cannot be read or
// is longer than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Reads `size` bytes from `offset` on into `buffer`.
absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer);
absl::StatusOr<int64_t> FileSize(const std::string& path);

// Writes the concatenation of `pieces` to a temporary file beside `path`, then renames it: `path`
// is either complete or untouched, and a failure leaves nothing behind.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_FILE_H_
