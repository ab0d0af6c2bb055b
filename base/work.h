// Limits the work of a computation, such as a proof. Work is counted in steps and never timed, so
// that the result is the same on every machine.
#ifndef LEMMA_BASE_WORK_H_
#define LEMMA_BASE_WORK_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace lemma {

constexpr int64_t kUnlimitedWork = std::numeric_limits<int64_t>::max();

// Thrown by SpendWork(). The creator of a WorkScope catches it, so it never leaves the creator's
// library.
struct WorkEnded {
  int64_t limit = 0;  // of the scope that is exhausted; 0: interrupted
  // `in` names the work that ended: "work limit of 100 steps reached in the proof".
  std::string Reason(const std::string& in) const;
};

// While a scope lives, work on this thread counts for it and for the scopes around it.
class WorkScope {
 public:
  // `interrupted`, if given, also ends the work soon after it becomes true.
  explicit WorkScope(int64_t limit, const std::atomic<bool>* interrupted = nullptr);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

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

// The counters of this thread: the steps that the last look at the scopes granted, and those of
// them that are left until the next look.
struct WorkMeter {
  int64_t granted = kUnlimitedWork, left = kUnlimitedWork;
  WorkScope* innermost = nullptr;
};
inline thread_local WorkMeter work_meter;

// Adds the steps done since the last call to all scopes. Throws WorkEnded if one is exhausted or
// interrupted.
void CheckWork();

// Counts steps. A step is about one operation on one term of a polynomial, some 30 ns.
inline void SpendWork(int64_t steps) {
  if ((work_meter.left -= steps) < 0) CheckWork();
}

}  // namespace lemma

#endif  // LEMMA_BASE_WORK_H_
