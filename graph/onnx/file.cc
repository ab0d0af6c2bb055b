#include "graph/onnx/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

absl::Status SystemError(const std::string& path, const char* action) {
  std::string message = absl::StrCat(path, ": cannot ", action, " (", std::strerror(errno), ")");
  return errno == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

absl::StatusOr<int64_t> RegularSize(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return SystemError(path, "read");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  return static_cast<int64_t>(info.st_size);
}

absl::Status ReadExactly(int fd, const std::string& path, int64_t offset, int64_t size,
                         char* buffer) {
  while (size > 0) {
    ssize_t n = pread(fd, buffer, static_cast<size_t>(std::min<int64_t>(size, 1 << 30)), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path, "read");
    if (n == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": ends too early"));
    buffer += n;
    offset += n;
    size -= n;
  }
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "open");
  auto size = RegularSize(file.get(), path);
  if (!size.ok()) return size.status();
  if (*size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", *size, " bytes, at most ", max_bytes, " can be read"));
  }
  std::string bytes(static_cast<size_t>(*size), '\0');
  if (auto s = ReadExactly(file.get(), path, 0, *size, bytes.data()); !s.ok()) return s;
  return bytes;
}

absl::StatusOr<int64_t> FileSize(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "open");
  return RegularSize(file.get(), path);
}

absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "open");
  return ReadExactly(file.get(), path, offset, size, static_cast<char*>(buffer));
}

absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "write");
  absl::Status status;
  for (absl::string_view piece : pieces) {
    status = WriteAll(file.get(), path, piece);
    if (!status.ok()) break;
  }
  // mkostemp makes the file private; give it the mode that creating it would have.
  mode_t mask = umask(0);
  umask(mask);
  if (status.ok() && fchmod(file.get(), 0666 & ~mask) != 0) status = SystemError(path, "write");
  if (close(file.Release()) != 0 && status.ok()) status = SystemError(path, "write");
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError(path, "write");
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace lemma
