// Ends proofs when the time is up. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_ALARM_H_
#define LEMMA_VERIFIER_REFEREE_ALARM_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/deadline.h"

namespace lemma::referee {

// Sets a flag when a deadline passes or another flag is set. A proof looks at such a flag, but not
// at the clock. `interrupted` may be null; otherwise it must outlive the alarm.
class Alarm {
 public:
  Alarm(const Deadline& deadline, const std::atomic<bool>* interrupted)
      : thread_([this, deadline, interrupted] {
          std::unique_lock<std::mutex> lock(mutex_);
          while (!is_over_ && !flag_) {
            flag_ = deadline.Passed() || (interrupted != nullptr && *interrupted);
            if (!flag_) changed_.wait_for(lock, std::chrono::milliseconds(50));
          }
        }) {}
  ~Alarm() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  const std::atomic<bool>* flag() const { return &flag_; }

 private:
  std::atomic<bool> flag_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;  // last, since it uses the others
};

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_ALARM_H_
