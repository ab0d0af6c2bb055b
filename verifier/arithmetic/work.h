// What a proof may cost: steps that are counted, never timed, so that a verdict is the same on
// every machine. Internal to the verifier.
#ifndef LEMMA_VERIFIER_ARITHMETIC_WORK_H_
#define LEMMA_VERIFIER_ARITHMETIC_WORK_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace lemma::prover {

constexpr int64_t kUnlimitedWork = std::numeric_limits<int64_t>::max();

// Thrown by Work(). Whoever makes a WorkScope catches it, so none leaves the verifier.
struct WorkEnded {
  int64_t limit = 0;  // of the scope whose work is spent; 0: interrupted
  std::string Reason(const std::string& in) const;
};

// While one lives, what is done on this thread counts for it, and for those that were there before.
class WorkScope {
 public:
  // `interrupted`, if any, ends the work too, soon after it becomes true.
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

// Of this thread.
struct WorkMeter {
  int64_t granted = kUnlimitedWork, left = kUnlimitedWork;  // until the next look at the scopes
  WorkScope* innermost = nullptr;
};
inline thread_local WorkMeter work_meter;

// Counts what is left until the scopes are looked at, and throws WorkEnded if one is over.
void CheckWork();

// Counts steps: a step is about one operation on one term of a polynomial, some 30 ns.
inline void Work(int64_t steps) {
  if ((work_meter.left -= steps) < 0) CheckWork();
}

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_WORK_H_
