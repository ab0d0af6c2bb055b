// Runs the roles of a block (block_memory.h) by turns: one at a time, until it has to wait.
// Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_ROLE_SCHEDULE_H_
#define LEMMA_VERIFIER_KERNELS_ROLE_SCHEDULE_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/types/span.h"

namespace lemma::kernels {

class RoleSchedule {
 public:
  // Each body runs in a thread of its own, none beside another one. `first` begins, and then each
  // gives way to the next one or, with `backwards`, to the one before. Returns when all have
  // returned.
  void Run(absl::Span<const std::function<void()>> bodies, int first, bool backwards);

  // --- Called by the body `role` ---
  // Lets others run until ready() is true. False if nobody can go on, or after Stop().
  bool WaitUntil(int role, const std::function<bool()>& ready);
  // Ends all waits.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // Lets `role` wait until all of `roles` do, all at a named barrier or all at the other one; calls
  // meet() once, when the last one has come.
  bool Meet(int role, bool named, const std::vector<int>& roles, const std::function<void()>& meet);

 private:
  void Pass(int role);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  // Twice the size of the meeting that a role waits at, and 1 more if it is named; 0: none.
  std::vector<size_t> meeting_;
  int running_ = 0;
  int step_ = 1;
  int idle_ = 0;  // waits in a row that were not over
  bool stopped_ = false;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_ROLE_SCHEDULE_H_
