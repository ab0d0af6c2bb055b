// Files of tensors, as files in memory. The header's length is usually made to fit, so that the
// header itself is examined.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

namespace lemma {
namespace {

class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("safetensors", 0)) {
    fuzz::Require(file_ >= 0, "no file in memory");
  }
  std::string path() const { return absl::StrCat("/proc/self/fd/", file_); }
  void Set(absl::string_view bytes) {
    const auto size = static_cast<ssize_t>(bytes.size());
    fuzz::Require(ftruncate(file_, 0) == 0 && pwrite(file_, bytes.data(), bytes.size(), 0) == size,
                  "the file in memory cannot be written");
  }

 private:
  int file_;
};

void ReadOne(absl::string_view bytes) {
  static MemoryFile* const file = new MemoryFile;
  file->Set(bytes);
  const auto read = ReadSafetensors(file->path());
  if (!read.ok()) return;
  // Offsets are consecutive without gaps, so tensors have no more bytes than the file.
  int64_t total = 0;
  for (const auto& [name, tensor] : read->tensors) total += tensor.type().num_bytes();
  fuzz::Require(total <= static_cast<int64_t>(bytes.size()), "tensors take more than the file has");
}

}  // namespace
}  // namespace lemma

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(lemma::fuzz::Text(data, size));
  lemma::ReadOne(bytes);
  const size_t end = bytes.rfind('}');
  if (bytes.size() < 8 || end == std::string::npos || end < 8) return 0;
  const uint64_t header = end + 1 - 8;
  std::memcpy(bytes.data(), &header, 8);
  lemma::ReadOne(bytes);
  return 0;
}
