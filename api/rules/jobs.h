// Runs independent jobs on several threads.
#ifndef LEMMA_API_RULES_JOBS_H_
#define LEMMA_API_RULES_JOBS_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace lemma::api {

// Calls work(0) … work(n - 1), each once, on up to `jobs` threads, one of which is the caller's.
// Jobs start in this order. After each job, calls done(number of finished jobs), one call at a
// time. `stop` may be null; once *stop is true, no further job starts. Returns whether all jobs
// were done.
bool RunJobs(int n, int jobs, const std::atomic<bool>* stop, absl::FunctionRef<void(int)> work,
             absl::FunctionRef<void(int)> done);

// InvalidArgument if the option `jobs` is not in 1…256.
absl::Status CheckJobs(int64_t jobs);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_JOBS_H_
