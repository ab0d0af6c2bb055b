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

// Reading errors are NotFound if the file does not exist, otherwise InvalidArgument; messages begin
// with the path. Only regular files are read: a FIFO might never end.

// Reads a whole file; InvalidArgument if it is longer than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Reads `size` bytes from `offset` on into `buffer`, which must hold them; InvalidArgument if the
// file ends before. Neither number may be negative.
absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer);
// In bytes, of a regular file.
absl::StatusOr<int64_t> FileSize(const std::string& path);

// Whether both paths lead to the same existing file.
bool AreOneFile(const std::string& a, const std::string& b);

// New contents of a file, already on disk under a temporary name in the same folder. Several files
// can so be committed together once all of them are complete.
class StagedFile {
 public:
  // Writes the concatenation of `pieces` to a temporary file next to `path` and flushes it to the
  // disk. First removes temporary files for `path` that killed processes left. If `path` is a
  // symbolic link, its target will be replaced. A device, a FIFO or an open file (/dev/stdout) is
  // not replaced: the bytes are written to it immediately. Errors as in reading.
  static absl::StatusOr<StagedFile> Write(const std::string& path,
                                          const std::vector<absl::string_view>& pieces);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();  // removes the temporary file if it was not committed

  // Renames the temporary file to `path` (to the target of a link). The file has the permissions
  // that `path` had when Write was called or, if it did not exist, those of any new file. Does
  // nothing after a success. Allocates no memory unless it fails, so it works when memory has run
  // out.
  absl::Status Commit();
  // The temporary file's path; empty after Commit(), or if the bytes were written immediately.
  const std::string& temporary() const { return temporary_; }

 private:
  StagedFile() = default;

  std::string path_, target_, folder_, temporary_;
  int lock_ = -1;  // held on the temporary file while its writer lives
};

// Removes the uncommitted temporary files of all threads, but no more than 16 of them; the next
// Write to the same path removes the others. For a signal handler that ends the process, since no
// destructor runs then. Async-signal-safe.
void RemoveStagedFiles();

// Commits in the given order. Stops at the first failure; files before it stay committed.
absl::Status CommitAll(std::vector<StagedFile> files);

// Stages and commits one file: afterwards `path` has the new contents, or, after an error, the old
// ones, and no temporary file remains. A device, a FIFO or an open file may have received a part of
// the contents before an error.
absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces);

// Called before long work whose result goes to `path`: returns InvalidArgument or PermissionDenied
// if a write there would fail now because of the folder, the kind of file or permissions. It does
// not see whether the disk has space. Messages begin with the path.
absl::Status CheckWritable(const std::string& path);

}  // namespace lemma

#endif  // LEMMA_BASE_FILE_H_
