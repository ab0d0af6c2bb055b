#include "base/failures.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "base/file.h"
#include "base/mapped_file.h"

namespace lemma {
namespace {

// Writes without allocating memory, as standard error's buffer might.
void Say(const char* what) {
  char line[256] = "lemma: ";
  std::strncat(line, what, sizeof line - 10);
  std::strcat(line, "\n");
  if (write(STDERR_FILENO, line, std::strlen(line)) < 0) return;
}

constexpr char kNoMemory[] =
    "out of memory: the system gives no more of it (a limit such as ulimit -v, or all is taken)";

// Results are renamed only when they are complete, so only staged files have to be removed.
[[noreturn]] void End(int status) {
  RemoveStagedFiles();
  _exit(status);
}

[[noreturn]] void EndWithoutMemory() {
  Say(kNoMemory);
  End(kExitBadInput);
}

// Ends the process as the signal would without a handler.
void EndBy(int signal) {
  RemoveStagedFiles();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

// Whether a library failed for lack of memory.
bool IsMemoryOut() {
  constexpr size_t kSome = size_t{16} << 20;
  void* some = mmap(nullptr, kSome, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (some == MAP_FAILED) return true;
  munmap(some, kSome);
  return false;
}

char* stack_top = nullptr;

// Whether the address lies below the frames of main, and not further than the stack may grow.
bool IsOnMainStack(const void* address) {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return false;
  const uint64_t reach =
      limit.rlim_cur == RLIM_INFINITY ? uint64_t{1} << 30 : limit.rlim_cur + (1 << 20);
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto top = reinterpret_cast<uintptr_t>(stack_top);
  return at <= top && top - at <= reach;
}

// Ends the process if it read a part of a mapped file that is not there any more.
void EndIfFileShrank(const void* address) {
  const char* path = MappedFileAt(address);
  if (path == nullptr) return;
  constexpr size_t kMost = 150;  // the end of a path tells more than its beginning
  const size_t length = std::strlen(path);
  char what[240] = "";
  if (length > kMost) std::strcat(what, "...");
  std::strcat(what, length > kMost ? path + length - kMost : path);
  Say(std::strcat(what, ": the file became shorter while it was in use; nothing was written"));
  End(kExitBadInput);
}

void OnCrash(int signal, siginfo_t* info, void*) {
  if (signal == SIGBUS) EndIfFileShrank(info->si_addr);
  if (IsMemoryOut()) EndWithoutMemory();
  if (signal == SIGSEGV && IsOnMainStack(info->si_addr)) {
    Say("out of stack: the input is nested too deeply for it (ulimit -s)");
    End(kExitBadInput);
  }
  EndBy(signal);
}

int StatusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Say(kNoMemory);
    return kExitBadInput;
  } catch (const std::system_error& error) {
    // If no thread can be started, memory is lacking too.
    const bool resources = error.code().value() == EAGAIN || error.code().value() == ENOMEM;
    Say(resources ? "out of memory: no thread can be started" : error.what());
    return resources ? kExitBadInput : kExitInternal;
  } catch (const std::exception& error) {
    if (IsMemoryOut()) EndWithoutMemory();
    char what[200] = "internal failure: ";
    std::strncat(what, error.what(), sizeof what - std::strlen(what) - 1);
    for (char& c : what) c = c == '\n' ? ' ' : c;
    Say(what);
    return kExitInternal;
  } catch (...) {
    if (IsMemoryOut()) EndWithoutMemory();
    Say("internal failure: an exception of unknown type");
    return kExitInternal;
  }
}

// Called when an exception leaves a thread, or a function that may throw nothing.
[[noreturn]] void OnTerminate() {
  if (std::current_exception() != nullptr) End(StatusOfException());
  if (IsMemoryOut()) EndWithoutMemory();
  Say("internal failure: terminated");
  End(kExitInternal);
}

// The command itself ends by _exit, so a library has called exit, and has said why: libgomp, if it
// gets no thread.
void OnForeignExit() { End(kExitBadInput); }

}  // namespace

void InstallFailureHandlers() {
  stack_top = static_cast<char*>(__builtin_frame_address(0));
  signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(EndWithoutMemory);
  std::set_terminate(OnTerminate);
  std::atexit(OnForeignExit);
  for (int wanted : {SIGINT, SIGTERM, SIGHUP}) {
    if (signal(wanted, EndBy) == SIG_IGN) signal(wanted, SIG_IGN);  // as in the background
  }
#if !defined(__SANITIZE_ADDRESS__)  // which reports crashes itself
  // If the stack is full, the handler needs another one.
  static char other_stack[64 << 10];
  stack_t stack = {};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT}) sigaction(signal, &action, nullptr);
#endif
}

int WithoutExceptions(absl::FunctionRef<int()> work) {
  try {
    return work();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace lemma
