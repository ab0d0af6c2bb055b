// Ends the process cleanly when memory or stack runs out, or when a library throws.
#ifndef LEMMA_BASE_FAILURES_H_
#define LEMMA_BASE_FAILURES_H_

#include "absl/functional/function_ref.h"

namespace lemma {

// The exit statuses of such ends.
constexpr int kExitBadInput = 2;  // memory or stack ran out, or a file changed while it was in use
constexpr int kExitInternal = 3;  // an exception that nobody expected

// For programs, not for libraries. After this call, a failed allocation on any thread ends the
// process with kExitBadInput and one line on standard error; so does a crash or abort of a library
// that got no memory. An uncaught exception ends it with kExitInternal. A write beyond the file
// size limit returns an error instead of ending the process. The process must end by _exit: a call
// of exit counts as the failure of a library.
void InstallFailureHandlers();

// Returns the exit status of `work`. If `work` throws, prints one line and returns the status for
// it.
int WithoutExceptions(absl::FunctionRef<int()> work);

}  // namespace lemma

#endif  // LEMMA_BASE_FAILURES_H_
