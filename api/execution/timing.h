// Times executables: one alone, or several in turn.
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

// The median; the mean of the two middle values if the number of values is even; 0 if there are no
// values.
double Median(std::vector<double> values);

// The time of each of `runs` executions, in milliseconds. `threads` selects the clock (Stopwatch in
// base/stopwatch.h). With 1, the processor time of the calling thread is measured: work on other
// threads does not count. With any other number, wall-clock time is measured.
absl::StatusOr<std::vector<double>> TimeRuns(Executable* executable,
                                             absl::Span<const Tensor> inputs, int runs,
                                             int threads = 0);

// Each kernel with its median time over `runs` executions, in the order in which the kernels run.
// At least one execution happens; no further execution begins after the deadline.
absl::StatusOr<std::vector<KernelTiming>> ProfileRuns(Executable* executable,
                                                      absl::Span<const Tensor> inputs, int runs,
                                                      const Deadline& deadline = Deadline());

// As ProfileRuns, for several candidates, which are executed in turn. Ends after `runs` rounds, or
// when `max_seconds` have passed and there were at least three rounds. The result has the
// candidates' order.
absl::StatusOr<std::vector<std::vector<KernelTiming>>> ProfileAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds);

// By signature (docs/glossary.md), the mean time of all kernels with this signature in the
// profiles. Kernels without a signature are left out.
optimizer::KernelTimes TimesBySignature(absl::Span<const std::vector<KernelTiming>> profiles);

// Executes the candidates in turn, a b a b …, so that a disturbance affects all of them. After one
// warm-up round, which is not timed, executes them until each has been timed `runs` times, or until
// `max_seconds` have passed and each has been timed at least three times. Returns milliseconds by
// candidate and round; `threads` as in TimeRuns.
absl::StatusOr<std::vector<std::vector<double>>> TimeAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds, int threads = 0);

// The result of PairedRatio: a median, and an interval from `low` to `high`.
struct RatioInterval {
  double low = 0, median = 0, high = 0;
};

// `a` and `b` are the times of two programs in each round, for one or more rounds. Returns the
// median of b[i] / a[i] (below 1: `b` is faster), and an interval that contains the true median
// with at least 95 % confidence, for any distribution of the ratios. With fewer than six rounds
// there is no such interval; then its ends are the smallest and the largest ratio.
RatioInterval PairedRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_TIMING_H_
