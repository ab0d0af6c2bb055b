#include "api/rules/jobs.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "api/models/option_error.h"

namespace lemma::api {

bool RunJobs(int n, int jobs, const std::atomic<bool>* stop, absl::FunctionRef<void(int)> work,
             absl::FunctionRef<void(int)> done) {
  std::atomic<int> next{0};
  std::mutex mutex;
  int finished = 0;
  auto run = [&] {
    while (stop == nullptr || !*stop) {
      const int i = next.fetch_add(1);
      if (i >= n) return;
      work(i);
      std::lock_guard<std::mutex> lock(mutex);
      done(++finished);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < std::min(jobs, n); ++t) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
  return finished == n;
}

absl::Status CheckJobs(int64_t jobs) {
  if (jobs >= 1 && jobs <= 256) return absl::OkStatus();
  return OptionError("option jobs: must be in 1…256");
}

}  // namespace lemma::api
