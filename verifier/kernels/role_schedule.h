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
  // `first` begins. When a role waits or returns, the next role runs: the role with the next higher
  // number or, if `backwards`, the next lower number (cyclically). Returns when all bodies have
  // returned. May be called again.
  void Run(absl::Span<const std::function<void()>> bodies, int first, bool backwards);

  // --- Called by the body of `role` ---
  // Lets other roles run until ready() is true. Returns false if all roles wait and none can go on
  // (a deadlock), or after Stop().
  bool WaitUntil(int role, const std::function<bool()>& ready);
  // Ends all waits of this Run, present and future ones; they return false. Called after a fault.
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // Waits until all of `roles`, which must include `role`, have called Meet with the same `roles`
  // and `named` (as in Machine::SyncThreads). The last role that calls Meet executes its meet()
  // before any role goes on. False in the same cases as WaitUntil.
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
  int step_ = 1;     // difference of the next role's number, modulo the number of roles
  int idle_ = 0;     // how often in a row ready() was false
  bool stopped_ = false;
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_ROLE_SCHEDULE_H_
