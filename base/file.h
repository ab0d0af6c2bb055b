// Whole files in and out.
#ifndef LEMMA_BASE_FILE_H_
#define LEMMA_BASE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

// NotFound or InvalidArgument, with the path and the system's reason, if `path` cannot be read or
// is longer than `max_bytes`. Only regular files are read: a FIFO might never come to an end.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Reads `size` bytes from `offset` on into `buffer`.
absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer);
absl::StatusOr<int64_t> FileSize(const std::string& path);

// Whether both lead to one file that is there.
bool AreOneFile(const std::string& a, const std::string& b);

// Contents that are on the disk beside the file that they are for, under another name. All whole
// files are written by it, so that several can be written or none.
class StagedFile {
 public:
  // Writes the concatenation of `pieces` to a temporary file beside `path` and brings it to the
  // disk. What a process left that was killed while it did the same is removed. A link is followed.
  // A device, a FIFO or an open file (/dev/stdout) is not replaced: it gets the bytes at once.
  static absl::StatusOr<StagedFile> Write(const std::string& path,
                                          const std::vector<absl::string_view>& pieces);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();  // removes what was not committed

  // Renames it to `path`, whose mode it has taken.
  absl::Status Commit();
  // Where the contents are before Commit(); empty where they were written through.
  const std::string& temporary() const { return temporary_; }

 private:
  StagedFile() = default;

  std::string path_, target_, temporary_;
  int lock_ = -1;  // on the temporary file: its writer lives
};

// Removes what is staged and not committed, on all threads: for a handler that ends the process,
// which destroys nothing. Async-signal-safe.
void RemoveStagedFiles();

// In their order; stops at the first failure.
absl::Status CommitAll(std::vector<StagedFile> files);

// Stages and commits: `path` is either complete or untouched, and a failure leaves nothing behind.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces);

// Why writing to `path` cannot succeed, as far as that can be told before there is something to
// write; messages begin with the path.
absl::Status CheckWritable(const std::string& path);

}  // namespace lemma

#endif  // LEMMA_BASE_FILE_H_
