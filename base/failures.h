// Ends the process cleanly when memory or stack runs out, or when a library throws.
#ifndef LEMMA_BASE_FAILURES_H_
#define LEMMA_BASE_FAILURES_H_

#include "absl/functional/function_ref.h"

namespace lemma {

// Exit statuses.
// Bad input; also if memory or stack ran out, or if a mapped file became shorter.
constexpr int kExitBadInput = 2;
constexpr int kExitInternal = 3;  // an unexpected exception

// For programs, not for libraries; a program calls it once, at the start of main. Afterwards:
//   * These events end the process with kExitBadInput and one line on standard
//     error: a failed allocation on any thread; a thread that cannot be
//     started; a crash or abort of a library that got no memory; a full stack
//     of the main thread; a read past the end of a mapped file that became
//     shorter (base/mapped_file.h).
//   * Any other uncaught exception ends the process with kExitInternal and one line on standard
//     error.
//   * SIGINT, SIGTERM and SIGHUP, unless the process ignored them before, end the process after
//     uncommitted temporary files are removed (base/file.h). While an InterruptScope lives
//     (base/interrupt.h), it handles SIGINT instead.
//   * A write beyond the file size limit returns an error instead of ending the process.
// The program itself must end by _exit(): a call of exit() counts as the failure of a library, and
// ends the process with kExitBadInput.
void InstallFailureHandlers();

// Returns the exit status that `work` returns. If `work` throws, prints one line on standard error
// and returns kExitBadInput if memory ran out or no thread could be started, else kExitInternal.
int WithoutExceptions(absl::FunctionRef<int()> work);

}  // namespace lemma

#endif  // LEMMA_BASE_FAILURES_H_
