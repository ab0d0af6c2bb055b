#include "verifier/kernels/role_schedule.h"

#include <algorithm>
#include <thread>

namespace lemma::kernels {

void RoleSchedule::Run(absl::Span<const std::function<void()>> bodies, int first, bool backwards) {
  const int roles = static_cast<int>(bodies.size());
  done_.assign(roles, false);
  meeting_.assign(roles, 0);
  running_ = first;
  step_ = backwards ? roles - 1 : 1;
  idle_ = 0;
  stopped_ = false;
  std::vector<std::thread> threads;
  for (int role = 0; role < roles; ++role) {
    threads.emplace_back([this, role, &bodies] {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return running_ == role; });
      bodies[role]();
      done_[role] = true;
      idle_ = 0;
      Pass(role);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void RoleSchedule::Pass(int role) {
  const int roles = static_cast<int>(done_.size());
  for (int k = 0; k < roles; ++k) {
    role = (role + step_) % roles;
    if (!done_[role]) break;
  }
  running_ = role;
  changed_.notify_all();
}

bool RoleSchedule::WaitUntil(int role, const std::function<bool()>& ready) {
  while (!stopped_) {
    if (ready()) {
      idle_ = 0;
      return true;
    }
    if (++idle_ > static_cast<int>(std::count(done_.begin(), done_.end(), false))) return false;
    Pass(role);
    // The mutex is held by whoever runs.
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    changed_.wait(lock, [&] { return running_ == role; });
    lock.release();
  }
  return false;
}

bool RoleSchedule::Meet(int role, bool named, const std::vector<int>& roles,
                        const std::function<void()>& meet) {
  const size_t meeting = 2 * roles.size() + (named ? 1 : 0);
  meeting_[role] = meeting;
  if (std::all_of(roles.begin(), roles.end(), [&](int r) { return meeting_[r] == meeting; })) {
    for (int r : roles) meeting_[r] = 0;
    meet();
  }
  return WaitUntil(role, [&] { return meeting_[role] == 0; });
}

}  // namespace lemma::kernels
