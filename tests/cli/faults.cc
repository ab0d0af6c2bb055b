// Preloaded into the command: makes the n-th allocation, or the n-th step of writing a file, fail.
// LEMMA_FAULTS=new:N or write:N selects it, counted from the time when the command has set its
// handler of failed allocations. shrink:PATH cuts a file to no bytes once it has been mapped;
// change:PATH appends to it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> news{-1}, writes{-1};  // left until the one that fails; negative: none will

long Wanted(const char* kind) {
  const char* text = std::getenv("LEMMA_FAULTS");
  const size_t n = std::strlen(kind);
  return text != nullptr && std::strncmp(text, kind, n) == 0 ? std::atol(text + n) : -1;
}

bool Fails(std::atomic<long>* left) { return *left > 0 && --*left == 0; }

template <class F>
F Next(const char* name, F) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool WriteFails() {
  if (!Fails(&writes)) return false;
  errno = ENOSPC;
  return true;
}

}  // namespace

namespace std {
new_handler set_new_handler(new_handler handler) noexcept {
  news = Wanted("new:");
  writes = Wanted("write:");
  return Next("_ZSt15set_new_handlerPFvvE", &set_new_handler)(handler);
}
}  // namespace std

void* operator new(size_t size) {
  void* memory = Fails(&news) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory != nullptr) return memory;
  if (std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  void* const memory =
      reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, fd, offset));
  const char* wanted = std::getenv("LEMMA_FAULTS");
  if (fd < 0 || wanted == nullptr || std::strchr(wanted, '/') == nullptr) return memory;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return memory;
  path[n] = 0;
  if (std::strcmp(path, std::strchr(wanted, '/')) != 0) return memory;
  const bool shrinks = std::strncmp(wanted, "shrink:", 7) == 0;
  const int file = open(path, O_WRONLY | (shrinks ? O_TRUNC : O_APPEND));
  if (file >= 0 && !shrinks && syscall(SYS_write, file, "more", 4) < 0) return MAP_FAILED;
  close(file);
  return memory;
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (Fails(&news)) return nullptr;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

ssize_t write(int fd, const void* bytes, size_t n) {
  if (fd > 2 && WriteFails()) return -1;
  return Next("write", &write)(fd, bytes, n);
}
ssize_t pwrite64(int fd, const void* bytes, size_t n, off64_t at) {
  if (WriteFails()) return -1;
  return Next("pwrite64", &pwrite64)(fd, bytes, n, at);
}
int fsync(int fd) { return WriteFails() ? -1 : Next("fsync", &fsync)(fd); }
int rename(const char* from, const char* to) noexcept {
  return WriteFails() ? -1 : Next("rename", &rename)(from, to);
}
int mkostemp(char* name, int flags) {
  return WriteFails() ? -1 : Next("mkostemp", &mkostemp)(name, flags);
}

}  // extern "C"
