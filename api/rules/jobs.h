// Independent pieces of work on several threads.
#ifndef LEMMA_API_RULES_JOBS_H_
#define LEMMA_API_RULES_JOBS_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace lemma::api {

// Calls work(0) … work(n - 1), each once, begun in this order, on `jobs` threads. After each,
// done(how many are done), one call at a time. False if *stop, which may be null, became true
// first; then some may not have been begun.
bool RunJobs(int n, int jobs, const std::atomic<bool>* stop, absl::FunctionRef<void(int)> work,
             absl::FunctionRef<void(int)> done);

// InvalidArgument if option jobs is not in 1…256.
absl::Status CheckJobs(int64_t jobs);

// Cancelled, for work that was interrupted before it had a result.
absl::Status Interrupted();

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_JOBS_H_
