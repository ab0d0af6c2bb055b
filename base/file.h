// Reads and writes whole files.
#ifndef LEMMA_BASE_FILE_H_
#define LEMMA_BASE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

// Returns NotFound or InvalidArgument, with the path and the system's reason, if `path` cannot be
// read or is longer than `max_bytes`. Reads regular files only: a FIFO might never end.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Reads `size` bytes from `offset` on into `buffer`. An error if the file is shorter.
absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer);
absl::StatusOr<int64_t> FileSize(const std::string& path);

// Whether both paths lead to one existing file.
bool AreOneFile(const std::string& a, const std::string& b);

// New contents of a file, already on disk under a temporary name beside it. Every complete file is
// written this way, so that several files can be committed together once all of them are complete.
class StagedFile {
 public:
  // Writes the concatenation of `pieces` to a temporary file next to `path` and flushes it to the
  // disk. Removes temporary files that a killed process left there. If `path` is a symbolic link,
  // its target is replaced. A device, a FIFO or an open file (/dev/stdout) is not replaced: it
  // receives the bytes at once.
  static absl::StatusOr<StagedFile> Write(const std::string& path,
                                          const std::vector<absl::string_view>& pieces);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();  // removes the temporary file if it was not committed

  // Renames the temporary file to `path`. It already has the mode of `path`. Allocates nothing, so
  // that several files can be committed where memory has run out.
  absl::Status Commit();
  // The temporary file's path before Commit(); empty if the bytes were written at once.
  const std::string& temporary() const { return temporary_; }

 private:
  StagedFile() = default;

  std::string path_, target_, folder_, temporary_;
  int lock_ = -1;  // held on the temporary file while its writer lives
};

// Removes all temporary files, of all threads, that are not committed. For a signal handler that
// ends the process, since no destructor runs then. Async-signal-safe.
void RemoveStagedFiles();

// Commits in the given order; stops at the first failure.
absl::Status CommitAll(std::vector<StagedFile> files);

// Stages and commits. `path` is either complete or untouched, and a failure leaves nothing behind.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces);

// To be called before long work whose result goes to `path`: returns an error if writing there is
// already known to fail. Messages begin with the path.
absl::Status CheckWritable(const std::string& path);

}  // namespace lemma

#endif  // LEMMA_BASE_FILE_H_
