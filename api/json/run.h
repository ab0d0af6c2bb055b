// Writes the results and times of executions as JSON.
#ifndef LEMMA_API_JSON_RUN_H_
#define LEMMA_API_JSON_RUN_H_

#include <vector>

#include "api/run.h"
#include "api/session.h"
#include "base/json.h"

namespace lemma::api {

Json ToJson(const Model& model, const RunOptions& options, const RunResult& result);
Json ToJson(const Session& session, const std::vector<SizesTiming>& timings);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RUN_H_
