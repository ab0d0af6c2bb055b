#include "graph/expr/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lemma {
namespace {

// One loop being executed: chunks are handed out in order.
struct Job {
  const std::function<void(int64_t, int64_t)>* body;
  int64_t n, chunk;
  std::atomic<int64_t> next{0};

  void Work() {
    for (;;) {
      int64_t begin = next.fetch_add(chunk);
      if (begin >= n) return;
      (*body)(begin, std::min(n, begin + chunk));
    }
  }
};

class Pool {
 public:
  // Leaked: threads may outlive static destruction.
  static Pool& Get() {
    static Pool* pool = new Pool;
    return *pool;
  }

  // False if another job is running.
  bool TryRun(int helpers, Job* job) {
    if (busy_.exchange(true)) return false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      while (started_ < helpers) std::thread([this, id = started_++] { Help(id); }).detach();
      job_ = job;
      helpers_ = helpers;
      running_ = helpers;
      ++generation_;
    }
    wake_.notify_all();
    job->Work();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    job_ = nullptr;
    lock.unlock();
    busy_ = false;
    return true;
  }

 private:
  void Help(int id) {
    int64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (id >= helpers_ || job_ == nullptr) continue;
      Job* job = job_;
      lock.unlock();
      job->Work();
      lock.lock();
      if (--running_ == 0) done_.notify_all();
    }
  }

  std::atomic<bool> busy_{false};
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int started_ = 0, helpers_ = 0, running_ = 0;
  int64_t generation_ = 0;
};

}  // namespace

void ParallelFor(int threads, int64_t n, const std::function<void(int64_t, int64_t)>& body) {
  if (n <= 0) return;
  threads = static_cast<int>(std::min<int64_t>(threads, n));
  if (threads > 1) {
    // A few chunks per thread, so that threads of unequal speed finish together.
    Job job{&body, n, std::max<int64_t>(1, n / (4 * threads)), {}};
    if (Pool::Get().TryRun(threads - 1, &job)) return;
  }
  body(0, n);
}

}  // namespace lemma
