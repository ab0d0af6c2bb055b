#include "base/interrupt.h"

#include <csignal>

namespace lemma {
namespace {

std::atomic<bool> interrupted{false};
void (*handler_before)(int) = SIG_DFL;

// A second interrupt acts as if there were no scope.
void OnInterrupt(int signal) {
  if (!interrupted.exchange(true)) return;
  if (handler_before != SIG_DFL) return handler_before(signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, nullptr, &previous_);
  handler_before = previous_.sa_handler;
  sigaction(SIGINT, &action, nullptr);
  if (previous_.sa_handler == SIG_IGN) sigaction(SIGINT, &previous_, nullptr);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &previous_, nullptr);
  interrupted = false;
}

const std::atomic<bool>& InterruptScope::Flag() { return interrupted; }

absl::Status InterruptedError() {
  return absl::CancelledError("interrupted: no result was written");
}

}  // namespace lemma
