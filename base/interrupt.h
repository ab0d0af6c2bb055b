// Handles Ctrl-C during long work.
#ifndef LEMMA_BASE_INTERRUPT_H_
#define LEMMA_BASE_INTERRUPT_H_

#include <atomic>
#include <csignal>

#include "absl/status/status.h"

namespace lemma {

// While such an object lives, the first Ctrl-C sets a flag that the work polls; the second ends the
// program at once. A process that ignored Ctrl-C before, such as a background job, still ignores
// it. Only one such object may exist at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  const std::atomic<bool>& flag() const { return Flag(); }
  // The same flag, for callers that need its address before an object exists. False while none
  // exists.
  static const std::atomic<bool>& Flag();

 private:
  struct sigaction previous_;
};

// The error of a command that was interrupted before it had a result.
absl::Status InterruptedError();

}  // namespace lemma

#endif  // LEMMA_BASE_INTERRUPT_H_
