// Prints profiles: the times of kernels beside the work that they do, and when each ran.
#ifndef LEMMA_API_EXECUTION_PROFILE_H_
#define LEMMA_API_EXECUTION_PROFILE_H_

#include <string>
#include <vector>

#include "api/execution/roofline.h"
#include "base/json.h"
#include "runtime/executor.h"

namespace lemma::api {

// Sums over all kernels. `roof` is the share of the measured roofline (api/execution/roofline.h):
// the least time that the work takes, divided by the time that it took; above 1 if operands come
// from caches. `mfu` (model FLOPs utilization) is the operations per second, divided by those of
// the roofline's matrix product.
struct ProfileTotals {
  double ms = 0, roof = 0, mfu = 0;
  Work work;
};
ProfileTotals TotalsOf(const std::vector<KernelTiming>& rows, const Roofline& roofline);

// Kernels of one value, if it is computed in blocks, are one row: "gemm:jit, 12 times".
std::string ProfileTable(const std::vector<KernelTiming>& rows, const Roofline& roofline);
Json ProfileJson(const std::vector<KernelTiming>& rows, const Roofline& roofline);

// One run in the Chrome trace format, which Perfetto opens: a slice for each kernel.
std::string ChromeTrace(const std::string& process, const std::vector<KernelTiming>& rows);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_PROFILE_H_
