// When work has to end: at a time, when somebody interrupts it, or never.
#ifndef LEMMA_BASE_DEADLINE_H_
#define LEMMA_BASE_DEADLINE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace lemma {

// One object for all that a command does: search, proofs, measurements, certificate. Whatever may
// take more than a second looks at it, so that none of them goes on when it should not. Copies are
// the same deadline. What depends on the clock need not come out the same again; what is
// interrupted ends with Cancelled or with the best so far.
class Deadline {
 public:
  Deadline() = default;  // never
  // In `seconds` (0: never), or as soon as *interrupted, which must outlive it, is true.
  static Deadline After(double seconds, const std::atomic<bool>* interrupted = nullptr) {
    Deadline deadline;
    deadline.seconds_ = seconds;
    if (seconds > 0 && seconds < 1e9) {
      deadline.at_ = In(seconds);
    }
    deadline.interrupted_ = interrupted;
    return deadline;
  }

  // The same, with half of the time that is left.
  Deadline Half() const {
    Deadline half = *this;
    if (at_) half.at_ = Clock::now() + (*at_ - Clock::now()) / 2;
    return half;
  }

  // As long again from now on, for work that begins when this may have passed.
  Deadline Again() const { return After(seconds_, interrupted_); }
  // The same, but it does not pass within `seconds` from now unless it is interrupted: for what
  // follows work that uses up all the time there is.
  Deadline NotWithin(double seconds) const {
    Deadline later = *this;
    if (at_) later.at_ = std::max(*at_, In(seconds));
    return later;
  }
  // The same, which nothing interrupts.
  Deadline WithoutInterruption() const {
    Deadline other = *this;
    other.interrupted_ = nullptr;
    return other;
  }

  // Seconds that are left, never quite none; 0 where nothing but an interruption ends it.
  double seconds_left() const {
    if (!at_) return 0;
    return std::max(1e-3, std::chrono::duration<double>(*at_ - Clock::now()).count());
  }
  bool interrupted() const { return interrupted_ != nullptr && *interrupted_; }
  bool Passed() const { return interrupted() || (at_ && Clock::now() >= *at_); }
  // What was interrupted returns, if it has nothing else to return.
  static absl::Status Interruption() { return absl::CancelledError("interrupted"); }
  // For those that look at nothing else; may be null.
  const std::atomic<bool>* interruption() const { return interrupted_; }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::time_point In(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  double seconds_ = 0;
  std::optional<Clock::time_point> at_;
  const std::atomic<bool>* interrupted_ = nullptr;
};

}  // namespace lemma

#endif  // LEMMA_BASE_DEADLINE_H_
