// A deadline says when work must end: at a given time, when someone interrupts it, or never.
#ifndef LEMMA_BASE_DEADLINE_H_
#define LEMMA_BASE_DEADLINE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace lemma {

// One deadline covers everything that a command does: search, proofs, measurements, certificate.
// Each task that may take more than a second checks the deadline and stops once the deadline has
// passed. A copy of a deadline has the same end and the same interruption flag. Interrupted work
// returns Cancelled or the best result so far. A result that depends on the clock may differ
// between runs.
class Deadline {
 public:
  Deadline() = default;  // Never passes.
  // Passes after `seconds` (0 and less, or 10^9 and more: never), or as soon as *interrupted is
  // true. `interrupted` may be null; otherwise *interrupted must outlive the deadline and its
  // copies.
  static Deadline After(double seconds, const std::atomic<bool>* interrupted = nullptr) {
    Deadline deadline;
    deadline.seconds_ = seconds;
    if (seconds > 0 && seconds < 1e9) {
      deadline.at_ = In(seconds);
    }
    deadline.interrupted_ = interrupted;
    return deadline;
  }

  // A copy of this deadline that has only half of the remaining time.
  Deadline Half() const {
    Deadline half = *this;
    if (at_) half.at_ = Clock::now() + (*at_ - Clock::now()) / 2;
    return half;
  }

  // A new deadline with the seconds that were given to After(), counted from the time of this call.
  // For work that may begin after this deadline has passed.
  Deadline Again() const { return After(seconds_, interrupted_); }
  // A copy of this deadline that leaves at least `seconds` from now, even if this deadline has
  // passed. An interruption still ends it. For work that begins after other work, which may have
  // used all of the time.
  Deadline WithAtLeast(double seconds) const {
    Deadline later = *this;
    if (at_) later.at_ = std::max(*at_, In(seconds));
    return later;
  }
  // A copy of this deadline without the interruption flag.
  Deadline WithoutInterruption() const {
    Deadline other = *this;
    other.interrupted_ = nullptr;
    return other;
  }

  // Remaining seconds: at least 1e-3, even if the time is over; 0 if there is no time limit.
  double seconds_left() const {
    if (!at_) return 0;
    return std::max(1e-3, std::chrono::duration<double>(*at_ - Clock::now()).count());
  }
  bool interrupted() const { return interrupted_ != nullptr && *interrupted_; }
  bool Passed() const { return interrupted() || (at_ && Clock::now() >= *at_); }
  // The status that interrupted work returns if it has no other result.
  static absl::Status Interruption() { return absl::CancelledError("interrupted"); }
  // The interruption flag alone; may be null.
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
