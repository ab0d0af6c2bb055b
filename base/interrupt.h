// Lets long work stop cleanly at Ctrl-C (SIGINT).
#ifndef LEMMA_BASE_INTERRUPT_H_
#define LEMMA_BASE_INTERRUPT_H_

#include <atomic>
#include <csignal>

#include "absl/status/status.h"

namespace lemma {

// While an InterruptScope lives, the first Ctrl-C sets a flag that the work polls
// (base/deadline.h). The second Ctrl-C acts as if there were no scope: the handler of
// base/failures.h, if installed, removes temporary files and ends the program. A process that
// ignored Ctrl-C before, such as a background job, still ignores it. Only one InterruptScope may
// exist at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  // True once Ctrl-C was pressed while this scope lived.
  const std::atomic<bool>& flag() const { return Flag(); }
  // The same flag, for callers that need its address before an InterruptScope exists. Valid until
  // the program ends; false while no InterruptScope exists.
  static const std::atomic<bool>& Flag();

 private:
  struct sigaction previous_;
};

// The error of a command, or of other work, that was interrupted before it had a result: Cancelled.
absl::Status InterruptedError();

}  // namespace lemma

#endif  // LEMMA_BASE_INTERRUPT_H_
