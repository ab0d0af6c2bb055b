// Ends the process cleanly when memory or stack runs out, or when a library throws.
#ifndef LEMMA_BASE_FAILURES_H_
#define LEMMA_BASE_FAILURES_H_

#include "absl/functional/function_ref.h"

namespace lemma {

// Exit statuses.
constexpr int kExitBadInput = 2;  // memory or stack ran out, or a mapped file became shorter
constexpr int kExitInternal = 3;  // an unexpected exception

// For programs, not for libraries. After this call, a failed allocation on any thread ends the
// process with kExitBadInput and one line on standard error; so does a crash or abort of a library
// that got no memory. Any other uncaught exception ends it with kExitInternal. SIGINT, SIGTERM and
// SIGHUP end it after uncommitted temporary files are removed (base/file.h). A write beyond the
// file size limit returns an error instead of ending the process. The program itself must end by
// _exit: a call of exit() is taken for the failure of a library.
void InstallFailureHandlers();

// Returns the exit status that `work` returns. If `work` throws, prints one line on standard error
// and returns kExitBadInput if memory ran out or no thread could be started, else kExitInternal.
int WithoutExceptions(absl::FunctionRef<int()> work);

}  // namespace lemma

#endif  // LEMMA_BASE_FAILURES_H_
