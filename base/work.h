// Limits the work of a computation, such as a proof. Work is counted in steps instead of seconds,
// so that the result is the same on every machine.
#ifndef LEMMA_BASE_WORK_H_
#define LEMMA_BASE_WORK_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace lemma {

constexpr int64_t kUnlimitedWork = std::numeric_limits<int64_t>::max();

// The exception that SpendWork() throws. The function that creates a WorkScope must catch it, so
// that it never leaves the library.
struct WorkEnded {
  int64_t limit = 0;  // the limit of the outermost exhausted scope; 0: interrupted
  // A sentence for people. `in` names the work that ended: Reason("the proof") is "work limit of
  // 100 steps reached in the proof", or "interrupted".
  std::string Reason(const std::string& in) const;
};

// While a scope lives, work on its thread counts for this scope and for the scopes around it.
// Scopes of one thread must be nested.
class WorkScope {
 public:
  // `limit`: the number of steps that are allowed, at least 1. `interrupted` may be null;
  // otherwise the work ends soon after *interrupted becomes true, and *interrupted must outlive
  // the scope.
  explicit WorkScope(int64_t limit, const std::atomic<bool>* interrupted = nullptr);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  // The number of steps so far.
  int64_t spent() const;

 private:
  friend void CheckWork();
  static void Settle();
  static void Grant();

  WorkScope* const outer_;
  const int64_t limit_;
  const std::atomic<bool>* const interrupted_;
  int64_t spent_ = 0;
};

// The counters of one thread, for SpendWork() and WorkScope only. Scopes are checked from time to
// time: `granted` steps may pass between two checks, and `left` of these steps are still allowed.
struct WorkMeter {
  int64_t granted = kUnlimitedWork, left = kUnlimitedWork;
  WorkScope* innermost = nullptr;
};
inline thread_local WorkMeter work_meter;

// Adds the steps since the last check to this thread's scopes. Throws WorkEnded if one of them is
// exhausted or interrupted.
void CheckWork();

// Counts steps; called by code that does the work. Throws WorkEnded as CheckWork() does. A step is
// about one operation on one term of a polynomial, some 30 ns.
inline void SpendWork(int64_t steps) {
  if ((work_meter.left -= steps) < 0) CheckWork();
}

}  // namespace lemma

#endif  // LEMMA_BASE_WORK_H_
