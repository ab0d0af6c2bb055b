// What a profile says: times of kernels beside the work they do, and when they ran.
#ifndef LEMMA_API_EXECUTION_PROFILE_H_
#define LEMMA_API_EXECUTION_PROFILE_H_

#include <string>
#include <vector>

#include "api/execution/roofline.h"
#include "base/json.h"
#include "runtime/executor.h"

namespace lemma::api {

// All kernels together. `roof` is the share of the measured roofline: the time that the work takes
// at least, over the time it took; above 1 where operands come from caches. `mfu` is operations per
// second over those of the roofline's matrix product.
struct ProfileTotals {
  double ms = 0, roof = 0, mfu = 0;
  Work work;
};
ProfileTotals TotalsOf(const std::vector<KernelTiming>& rows, const Roofline& roofline);

std::string ProfileTable(const std::vector<KernelTiming>& rows, const Roofline& roofline);
Json ProfileJson(const std::vector<KernelTiming>& rows, const Roofline& roofline);

// One run in the Chrome trace format, which Perfetto opens: a slice for each kernel.
std::string ChromeTrace(const std::string& process, const std::vector<KernelTiming>& rows);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_PROFILE_H_
