#include "base/interrupt.h"

namespace lemma {
namespace {

std::atomic<bool> interrupted{false};

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_);
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
