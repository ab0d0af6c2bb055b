// Times of executables.
#ifndef LEMMA_API_EXECUTION_TIMING_H_
#define LEMMA_API_EXECUTION_TIMING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "graph/tensor.h"
#include "optimizer/cost/cost_db.h"
#include "runtime/executor.h"

namespace lemma::api {

double Median(std::vector<double> values);

// Milliseconds of `runs` executions; as Stopwatch counts them with so many threads, 0: by the
// clock.
absl::StatusOr<std::vector<double>> TimeRuns(Executable* executable,
                                             absl::Span<const Tensor> inputs, int runs,
                                             int threads = 0);

// Each kernel's median over `runs` executions, at least one. After the first, none begins once the
// deadline has passed.
absl::StatusOr<std::vector<KernelTiming>> ProfileRuns(Executable* executable,
                                                      absl::Span<const Tensor> inputs, int runs,
                                                      const Deadline& deadline = Deadline());

// The same of each candidate, executed in turn as by TimeAlternating: until each has been executed
// `runs` times, or `max_seconds` have passed and each three times.
absl::StatusOr<std::vector<std::vector<KernelTiming>>> ProfileAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds);

// The mean over all kernels of a signature, in these profiles together; those without one left out.
optimizer::KernelTimes TimesBySignature(absl::Span<const std::vector<KernelTiming>> profiles);

// Executes the candidates in turn, a b a b …, so that a disturbance hits all alike: one warm-up
// round, then rounds until each has `runs` times, or `max_seconds` have passed and each has at
// least three. Returns milliseconds, [candidate][round], `threads` as in TimeRuns.
absl::StatusOr<std::vector<std::vector<double>>> TimeAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds, int threads = 0);

// How many times as long as `a` `b` takes: below 1 is faster.
struct RatioInterval {
  double low = 0, median = 0, high = 0;
};

// The median of b_i / a_i, rounds paired, and the interval that holds the true median with 95 %
// confidence, whatever the distribution: two of the sorted ratios. With fewer than six rounds there
// is no such interval, and the smallest and the largest ratio stand in. Needs a round.
RatioInterval PairedRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_TIMING_H_
