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

// All errors of reading are NotFound if the file does not exist, otherwise InvalidArgument. Their
// messages begin with the path. Only regular files are read, because a FIFO might never end.

// Reads a whole file; InvalidArgument if it is longer than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Reads `size` bytes, beginning at `offset`, into `buffer`, which must have room for them.
// InvalidArgument if the file ends too early. Neither number may be negative.
absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer);
// The size of a regular file, in bytes.
absl::StatusOr<int64_t> FileSize(const std::string& path);

// Whether both paths lead to the same existing file.
bool AreOneFile(const std::string& a, const std::string& b);

// New contents of a file, already on disk under a temporary name in the same folder. So several
// files can be committed together once all of them are complete.
class StagedFile {
 public:
  // Writes the concatenation of `pieces` to a temporary file next to `path` and flushes it to the
  // disk. First removes temporary files for `path` that killed processes left. If `path` is a
  // symbolic link, Commit() will replace the link's target. A device, a FIFO or an open file
  // (/dev/stdout) cannot be replaced: Write writes the bytes to it immediately, and Commit() does
  // nothing. Errors are NotFound if the folder does not exist, otherwise InvalidArgument; messages
  // begin with the path.
  static absl::StatusOr<StagedFile> Write(const std::string& path,
                                          const std::vector<absl::string_view>& pieces);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();  // removes the temporary file if it was not committed

  // Renames the temporary file to `path`, or to the target if `path` is a symbolic link. The file
  // has the permissions that `path` had when Write was called or, if `path` did not exist, the
  // usual permissions of a new file. A second call after a success does nothing. Allocates no
  // memory unless it fails, so it works when memory has run out.
  absl::Status Commit();
  // The temporary file's path; empty after Commit(), or if the bytes were written immediately.
  const std::string& temporary() const { return temporary_; }

 private:
  StagedFile() = default;

  std::string path_, target_, folder_, temporary_;
  int lock_ = -1;  // held on the temporary file while its writer lives
};

// Removes up to 16 uncommitted temporary files, of all threads; the next Write to the same path
// removes any others. For a signal handler that ends the process, because no destructor runs then.
// Async-signal-safe.
void RemoveStagedFiles();

// Commits the files in the given order. Stops at the first failure; the files before it stay
// committed.
absl::Status CommitAll(std::vector<StagedFile> files);

// Stages and commits one file. Afterwards `path` has the new contents or, after an error, the old
// contents, and no temporary file remains. A device, a FIFO or an open file may have received a
// part of the contents before an error.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces);

// Call it before long work whose result goes to `path`. InvalidArgument or PermissionDenied if a
// write to `path` would fail now because of the folder, the kind of file or permissions. It does
// not check whether the disk has space. Messages begin with the path.
absl::Status CheckWritable(const std::string& path);

// The path of one of the files that Lemma keeps between runs: $HOME/.cache/lemma/NAME, where `name`
// is a relative path. The result is empty if HOME is unset or empty.
std::string CachePath(absl::string_view name);

}  // namespace lemma

#endif  // LEMMA_BASE_FILE_H_
