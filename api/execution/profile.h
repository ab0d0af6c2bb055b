// Formats the profile of a run: the time of each kernel beside its work, and when it ran.
#ifndef LEMMA_API_EXECUTION_PROFILE_H_
#define LEMMA_API_EXECUTION_PROFILE_H_

#include <string>
#include <vector>

#include "api/execution/roofline.h"
#include "base/json.h"
#include "runtime/executor.h"

namespace lemma::api {

// Totals over all kernels. `ms` and `work` are sums. `roof` is the shortest time for the work by
// the measured roofline (api/execution/roofline.h), divided by the time that the work took; `roof`
// can exceed 1 if operands come from caches. `mfu` (model FLOPs utilization) is the number of
// operations per second, divided by Roofline::flops_per_second.
struct ProfileTotals {
  double ms = 0, roof = 0, mfu = 0;
  Work work;
};
ProfileTotals TotalsOf(const std::vector<KernelTiming>& rows, const Roofline& roofline);

// A table for people with a row for each kernel, and a line with the totals.
// Kernels with the same name, label and note, such as those that compute one
// value in blocks, are one row, with a note such as "gemm:jit, 12 times".
std::string ProfileTable(const std::vector<KernelTiming>& rows, const Roofline& roofline);
// A list with an object for each row of the table: kernel, value, ms, note, flops, bytes_read,
// bytes_written, flops_per_byte and roof.
Json ProfileJson(const std::vector<KernelTiming>& rows, const Roofline& roofline);

// The run in the Chrome trace format (JSON), which Perfetto opens: a slice for each kernel, in one
// process with the name `process`.
std::string ChromeTrace(const std::string& process, const std::vector<KernelTiming>& rows);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_PROFILE_H_
