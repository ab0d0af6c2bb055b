#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// The mapped files, where a signal handler can read them. Those beyond this number are unknown to
// it.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<const MappedFile*> file{nullptr};
};
Slot all_mapped[4096];

absl::Status SystemError(const std::string& path, const char* action) {
  const std::string message =
      absl::StrCat(path, ": cannot ", action, " (", std::strerror(errno), ")");
  return errno == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // Opening a FIFO without O_NONBLOCK might never end.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, "open");
  struct stat info;
  absl::Status status;
  void* data = nullptr;
  if (fstat(fd, &info) != 0) {
    status = SystemError(path, "read");
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  } else if (info.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      status = absl::ResourceExhaustedError(
          absl::StrCat(path, ": cannot map ", info.st_size, " bytes (", std::strerror(errno), ")"));
    }
  }
  close(fd);
  if (!status.ok()) return status;
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->data_ = static_cast<const char*>(data);
  file->size_ = static_cast<size_t>(info.st_size);
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  file->modified_ = info.st_mtim;
  for (size_t i = 0; i < std::size(all_mapped); ++i) {
    if (all_mapped[i].taken.exchange(true)) continue;
    file->slot_ = static_cast<int>(i);
    all_mapped[i].file = file.get();
    break;
  }
  return file;
}

MappedFile::~MappedFile() {
  if (slot_ >= 0) {
    all_mapped[slot_].file = nullptr;
    all_mapped[slot_].taken = false;
  }
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

absl::Status MappedFile::CheckUnchanged() const {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) return absl::OkStatus();  // the mapping keeps the bytes
  if (info.st_dev != device_ || info.st_ino != inode_) return absl::OkStatus();
  const bool same = static_cast<size_t>(info.st_size) == size_ &&
                    info.st_mtim.tv_sec == modified_.tv_sec &&
                    info.st_mtim.tv_nsec == modified_.tv_nsec;
  return same ? absl::OkStatus()
              : absl::AbortedError(absl::StrCat(path_, ": the file changed while it was in use"));
}

const char* MappedFileAt(const void* address) {
  const auto* at = static_cast<const char*>(address);
  for (Slot& slot : all_mapped) {
    const MappedFile* file = slot.file;
    if (file == nullptr || file->bytes().data() == nullptr) continue;
    const char* begin = file->bytes().data();
    if (at >= begin && at < begin + file->bytes().size()) return file->path().c_str();
  }
  return nullptr;
}

}  // namespace lemma
