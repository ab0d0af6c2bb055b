// Files that are read by mapping them into memory. Their pages can be dropped and read again, so
// they take no memory that the system cannot have back.
#ifndef LEMMA_BASE_MAPPED_FILE_H_
#define LEMMA_BASE_MAPPED_FILE_H_

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma {

class MappedFile {
 public:
  // Maps a whole regular file. Errors as ReadFile (base/file.h); ResourceExhausted if there are no
  // addresses left for it, as under `ulimit -v`, or if its file system cannot map files.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  absl::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Aborted if the file was written to since it was mapped: then nothing that was read from it can
  // be relied on. Replacing the file by another one does not count as a write to it.
  absl::Status CheckUnchanged() const;

 private:
  MappedFile() = default;

  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  timespec modified_ = {};
  int slot_ = -1;  // in the list that MappedFileAt reads
};

// The path of the mapped file that has this address; nullptr if no such file is known. Reading the
// address raises SIGBUS if the file has become shorter. Async-signal-safe.
const char* MappedFileAt(const void* address);

}  // namespace lemma

#endif  // LEMMA_BASE_MAPPED_FILE_H_
