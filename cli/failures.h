// What ends the process from within: no memory, no stack, a library's exception.
#ifndef LEMMA_CLI_FAILURES_H_
#define LEMMA_CLI_FAILURES_H_

#include "absl/functional/function_ref.h"

namespace lemma::cli {

// From now on a failed allocation, on any thread, ends the process with kExitBadInput and one line
// on standard error; so does a crash or an abort of a library that had no memory. An exception that
// nobody catches ends it with kExitInternal. A write beyond the limit of a file's size fails
// instead of ending the process. The process has to end by _exit.
void InstallFailureHandlers();

// The exit status of `work`, or of the line that is printed where it throws.
int WithoutExceptions(absl::FunctionRef<int()> work);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_FAILURES_H_
