#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
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

// Opens a file for reading. It must be a regular file: reading a FIFO might never end.
absl::StatusOr<int> OpenRegular(const std::string& path, int64_t* size) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError(path, "open");
  struct stat info;
  if (fstat(file.get(), &info) != 0) return SystemError(path, "read");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  *size = static_cast<int64_t>(info.st_size);
  return file.Release();
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

absl::Status WriteAll(int fd, const std::string& path,
                      const std::vector<absl::string_view>& pieces) {
  for (absl::string_view piece : pieces) {
    while (!piece.empty()) {
      ssize_t n = write(fd, piece.data(), std::min<size_t>(piece.size(), 1 << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(path, "write");
      piece.remove_prefix(static_cast<size_t>(n));
    }
  }
  return absl::OkStatus();
}

// The file that writing to a path changes.
struct Target {
  std::string path;            // after all links
  bool write_through = false;  // it is not a file that can be replaced
  mode_t mode = 0;             // of the existing file; 0: there is none
};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A link in /proc, where /dev/stdout ends, names an open file instead of a path.
bool IsOnProc(const std::string& link) {
  struct statfs info;
  return statfs(FolderOf(link).c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

absl::StatusOr<Target> Resolve(const std::string& path) {
  constexpr int kMaxLinks = 40;  // the kernel's limit
  Target target{path};
  struct stat info;
  for (int links = 0;; ++links) {
    if (lstat(target.path.c_str(), &info) != 0) {
      if (errno == ENOENT) return target;
      return SystemError(path, "write");
    }
    if (!S_ISLNK(info.st_mode)) break;
    if (IsOnProc(target.path)) {
      target.write_through = true;
      return target;
    }
    char text[4096];
    const ssize_t n = readlink(target.path.c_str(), text, sizeof text);
    if (n < 0) return SystemError(path, "write");
    if (links == kMaxLinks || n == sizeof text) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write (too many links)"));
    }
    const std::string to(text, static_cast<size_t>(n));
    target.path = to[0] == '/' ? to : absl::StrCat(FolderOf(target.path), "/", to);
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot write (is a folder)"));
  }
  target.write_through = !S_ISREG(info.st_mode);
  target.mode = info.st_mode & 07777;
  return target;
}

// Writes the bytes to a device, a FIFO or an open file. This cannot be undone.
absl::Status WriteThrough(const std::string& path, const Target& target,
                          const std::vector<absl::string_view>& pieces) {
  // A file that this process has open is written at its current position; opening it anew would
  // start at 0.
  constexpr absl::string_view kOwn = "/proc/self/fd/";
  int own = -1;
  const bool is_own = absl::StartsWith(target.path, kOwn) &&
                      absl::SimpleAtoi(target.path.substr(kOwn.size()), &own);
  Descriptor file(is_own ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                         : open(target.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "write");
  absl::Status status = WriteAll(file.get(), path, pieces);
  if (close(file.Release()) != 0 && status.ok()) status = SystemError(path, "write");
  return status;
}

// Ends the name of a temporary file, before six characters that make it unique.
constexpr char kTemporary[] = ".lemma-";

// Removes temporary files of processes that were killed while they wrote `path`. A live process
// holds a lock on its file.
void RemoveLeftovers(const std::string& path) {
  const std::string folder = FolderOf(path);
  const std::string prefix =
      path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1) + kTemporary;
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name.size() != prefix.size() + 6 || name.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string file = absl::StrCat(folder, "/", name);
    Descriptor left(open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (left.get() >= 0 && flock(left.get(), LOCK_EX | LOCK_NB) == 0) unlink(file.c_str());
  }
  closedir(entries);
}

// The names of temporary files, where a signal handler can read them. Files beyond this number are
// left to the next writer.
struct Staged {
  std::atomic<bool> taken{false}, ready{false};
  char name[4096];
};
Staged all_staged[16];

void Register(const std::string& name) {
  if (name.size() >= sizeof all_staged[0].name) return;
  for (Staged& staged : all_staged) {
    if (staged.taken.exchange(true)) continue;
    std::memcpy(staged.name, name.c_str(), name.size() + 1);
    staged.ready = true;
    return;
  }
}

void Unregister(const std::string& name) {
  for (Staged& staged : all_staged) {
    if (!staged.ready || name != staged.name) continue;
    staged.ready = false;
    staged.taken = false;
    return;
  }
}

// Creates a new file for the contents of `target`, locked by this process.
absl::StatusOr<int> OpenTemporary(const std::string& path, const std::string& target,
                                  std::string* name) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::string temporary = absl::StrCat(target, kTemporary, "XXXXXX");
    Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
    if (file.get() < 0) break;
    flock(file.get(), LOCK_EX);
    // Before it was locked, another writer may have removed it as a leftover.
    struct stat info;
    if (fstat(file.get(), &info) == 0 && info.st_nlink == 0) continue;
    Register(temporary);
    *name = std::move(temporary);
    return file.Release();
  }
  return SystemError(path, "write");
}

// Makes the new name survive a power failure. Some file systems do not support this.
void SyncFolder(const std::string& path) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
}

// mkostemp makes a file private; this is the mode that a normal creation would give it.
mode_t DefaultMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  int64_t size = 0;
  auto opened = OpenRegular(path, &size);
  if (!opened.ok()) return opened.status();
  Descriptor file(*opened);
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", size, " bytes, at most ", max_bytes, " can be read"));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  if (auto s = ReadExactly(file.get(), path, 0, size, bytes.data()); !s.ok()) return s;
  return bytes;
}

absl::StatusOr<int64_t> FileSize(const std::string& path) {
  int64_t size = 0;
  auto opened = OpenRegular(path, &size);
  if (!opened.ok()) return opened.status();
  Descriptor file(*opened);
  return size;
}

absl::Status ReadFileRange(const std::string& path, int64_t offset, int64_t size, void* buffer) {
  int64_t all = 0;
  auto opened = OpenRegular(path, &all);
  if (!opened.ok()) return opened.status();
  Descriptor file(*opened);
  return ReadExactly(file.get(), path, offset, size, static_cast<char*>(buffer));
}

bool AreOneFile(const std::string& a, const std::string& b) {
  struct stat x, y;
  if (stat(a.c_str(), &x) != 0 || stat(b.c_str(), &y) != 0) return false;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

absl::StatusOr<StagedFile> StagedFile::Write(const std::string& path,
                                             const std::vector<absl::string_view>& pieces) {
  auto target = Resolve(path);
  if (!target.ok()) return target.status();
  StagedFile staged;
  if (target->write_through) {
    if (absl::Status s = WriteThrough(path, *target, pieces); !s.ok()) return s;
    return staged;
  }
  RemoveLeftovers(target->path);
  staged.path_ = path;
  staged.target_ = target->path;
  staged.folder_ = FolderOf(target->path);
  auto opened = OpenTemporary(path, target->path, &staged.temporary_);
  if (!opened.ok()) return opened.status();
  staged.lock_ = *opened;
  if (absl::Status s = WriteAll(staged.lock_, path, pieces); !s.ok()) return s;
  // Synced before the rename: otherwise, if the machine stops, the new name may hold an empty file.
  const mode_t mode = target->mode != 0 ? target->mode : DefaultMode();
  if (fchmod(staged.lock_, mode) != 0 || fsync(staged.lock_) != 0) {
    return SystemError(path, "write");
  }
  return staged;
}

StagedFile::StagedFile(StagedFile&& other) noexcept { *this = std::move(other); }

StagedFile& StagedFile::operator=(StagedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(folder_, other.folder_);
  std::swap(temporary_, other.temporary_);
  std::swap(lock_, other.lock_);
  return *this;
}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    Unregister(temporary_);
  }
  if (lock_ >= 0) close(lock_);
}

absl::Status StagedFile::Commit() {
  if (temporary_.empty()) return absl::OkStatus();
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return SystemError(path_, "write");
  Unregister(temporary_);
  temporary_.clear();
  SyncFolder(folder_);
  return absl::OkStatus();
}

void RemoveStagedFiles() {
  for (Staged& staged : all_staged) {
    if (staged.ready) unlink(staged.name);
  }
}

absl::Status CommitAll(std::vector<StagedFile> files) {
  for (StagedFile& file : files) {
    if (absl::Status s = file.Commit(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path,
                                 const std::vector<absl::string_view>& pieces) {
  auto staged = StagedFile::Write(path, pieces);
  return staged.ok() ? staged->Commit() : staged.status();
}

absl::Status CheckWritable(const std::string& path) {
  auto cannot = [&](auto... why) { return absl::StrCat(path, ": cannot be written: ", why...); };
  struct stat info;
  const bool is_folder = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (is_folder || path.empty() || path.back() == '/') {
    return absl::InvalidArgumentError(cannot("it is a folder"));
  }
  auto target = Resolve(path);
  if (!target.ok()) return target.status();
  if (target->write_through) {
    if (access(target->path.c_str(), W_OK) == 0) return absl::OkStatus();
    return absl::PermissionDeniedError(cannot("no permission"));
  }
  const std::string folder = FolderOf(target->path);
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(cannot("there is no folder ", folder));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(cannot("no permission in folder ", folder));
  }
  return absl::OkStatus();
}

std::string CachePath(absl::string_view name) {
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.cache/lemma/", name);
}

}  // namespace lemma
