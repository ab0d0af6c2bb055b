// Ctrl-C during long work.
#ifndef LEMMA_CLI_INTERRUPT_H_
#define LEMMA_CLI_INTERRUPT_H_

#include <atomic>
#include <csignal>

#include "absl/status/status.h"

namespace lemma::cli {

// While one lives, the first Ctrl-C sets a flag that the work looks at; the second ends the program
// at once. Where Ctrl-C was ignored before, as in a job in the background, it stays so. One at a
// time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  const std::atomic<bool>& flag() const { return Flag(); }
  // The same for those that are made before one lives; false while none does.
  static const std::atomic<bool>& Flag();

 private:
  struct sigaction previous_;
};

// What a command returns that was interrupted before it had a result.
absl::Status InterruptedError();

}  // namespace lemma::cli

#endif  // LEMMA_CLI_INTERRUPT_H_
