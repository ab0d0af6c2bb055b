// Reads files by mapping them into memory. The system can drop the pages at any time and read them
// again, so a large file does not exhaust memory.
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

// A file that is mapped into memory, read-only. Its bytes stay mapped as long as the object lives.
class MappedFile {
 public:
  // Maps a whole regular file. Errors as in ReadFile (base/file.h); ResourceExhausted if the
  // address space is too small for the file, as under `ulimit -v`, or if the file system cannot map
  // files.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  absl::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Aborted if the file was written to since it was mapped: then everything that was read from it
  // is unreliable. OK if the path was deleted or leads to another file: then the mapping keeps the
  // old bytes.
  absl::Status CheckUnchanged() const;

 private:
  MappedFile() = default;

  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  timespec modified_ = {};
  int slot_ = -1;  // position in the list that MappedFileAt reads; -1: the list is full
};

// The path of the mapped file in whose bytes `address` lies; nullptr if there is none. Knows up to
// 4096 files that are mapped at the same time. For the handler of SIGBUS, the signal that is raised
// when a mapped file that became shorter is read past its end. Async-signal-safe.
const char* MappedFileAt(const void* address);

}  // namespace lemma

#endif  // LEMMA_BASE_MAPPED_FILE_H_
