// Runs the roles of a block (block_memory.h) one at a time: a role runs until it has to wait.
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
  // Runs bodies[r] for each role r, each in a thread of its own, but only one at a time. Role
  // `first` begins. A role that waits or returns lets the next role run, in order of numbers or, if
  // `backwards`, in reverse order, cyclically. Returns when all bodies have returned. May be called
  // again.
  void Run(absl::Span<const std::function<void()>> bodies, int first, bool backwards);

  // --- Called by the body `role` ---
  // Lets others run until ready() is true. False if all roles wait in vain, or after Stop().
  bool WaitUntil(int role, const std::function<bool()>& ready);
  // Ends all waits of this Run, present and future ones; they return false. Called after a fault.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // Waits until all of `roles`, which include `role`, have called Meet with the same `roles` and
  // `named` (Machine::SyncThreads). The last of them calls its meet() before any role goes on.
  // False in the same cases as WaitUntil.
  bool Meet(int role, bool named, const std::vector<int>& roles, const std::function<void()>& meet);

 private:
  // Lets the next role behind `role` run whose body has not returned.
  void Pass(int role);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  // Twice the size of the meeting that a role waits at, and 1 more if it is named; 0: none.
  std::vector<size_t> meeting_;
  int running_ = 0;  // the role that runs
  int step_ = 1;     // from a role to the next one, modulo the number of roles
  int idle_ = 0;     // how often in a row ready() was false
  bool stopped_ = false;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_ROLE_SCHEDULE_H_
