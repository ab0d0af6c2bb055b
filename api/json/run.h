// Writes the results and times of executions as JSON.
#ifndef LEMMA_API_JSON_RUN_H_
#define LEMMA_API_JSON_RUN_H_

#include <vector>

#include "api/run.h"
#include "api/session.h"
#include "base/json.h"

namespace lemma::api {

// An object with graph, backend, threads, operators (their number), ms (a list), median_ms,
// peak_bytes and weight_bytes; with options.expect, equal, difference and allowed; with
// options.profile, roof_flops_per_second, roof_bytes_per_second, flops, roof, mfu (ProfileTotals in
// api/execution/profile.h) and kernels (ProfileJson).
Json ToJson(const Model& model, const RunOptions& options, const RunResult& result);
// An object with graph, threads, operators (their number), and at: a list with one object for each
// choice of sizes: sizes, first_ms, ms, median_ms, again_ms (SizesTiming in api/session.h) and
// peak_bytes.
Json ToJson(const Session& session, const std::vector<SizesTiming>& timings);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RUN_H_
