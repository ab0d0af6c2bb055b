// Writes the results and times of executions as JSON.
#ifndef LEMMA_API_JSON_RUN_H_
#define LEMMA_API_JSON_RUN_H_

#include <vector>

#include "api/run.h"
#include "api/session.h"
#include "base/json.h"

namespace lemma::api {

// An object with graph, backend, threads, operators (their number), ms (a list: the time of each
// run), median_ms, peak_bytes and weight_bytes. If outputs were compared (options.expect), also
// equal, difference and allowed. With options.profile, also roof_flops_per_second,
// roof_bytes_per_second, flops, roof, mfu (ProfileTotals in api/execution/profile.h) and kernels
// (ProfileJson).
Json ToJson(const Model& model, const RunOptions& options, const RunResult& result);
// An object with graph, threads, operators (their number), and at: a list with one object for each
// choice of sizes. This object has sizes (by name), first_ms, ms, median_ms, again_ms (SizesTiming
// in api/session.h) and peak_bytes.
Json ToJson(const Session& session, const std::vector<SizesTiming>& timings);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RUN_H_
