// Measures the time that a computation takes.
#ifndef LEMMA_BASE_STOPWATCH_H_
#define LEMMA_BASE_STOPWATCH_H_

#include <algorithm>
#include <chrono>
#include <ctime>

namespace lemma {

// Starts when it is constructed. For a computation on one thread, the time in which this thread had
// no processor does not count, so that other work on the machine disturbs the result less.
class Stopwatch {
 public:
  // `threads`: the number of threads that the measured computation uses. If it is 1, the
  // computation must run on the thread that constructs the stopwatch and calls Ms().
  explicit Stopwatch(int threads) : by_thread_(threads == 1) {
    if (by_thread_) thread_start_ = ThreadMs();
    start_ = Clock::now();
  }

  // Milliseconds since the start.
  double Ms() const {
    const double wall = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
    return by_thread_ ? std::min(wall, ThreadMs() - thread_start_) : wall;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double ThreadMs() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
  }

  const bool by_thread_;
  double thread_start_ = 0;
  Clock::time_point start_;
};

}  // namespace lemma

#endif  // LEMMA_BASE_STOPWATCH_H_
