// Executions as JSON.
#ifndef LEMMA_API_JSON_RUN_H_
#define LEMMA_API_JSON_RUN_H_

#include "api/run.h"
#include "base/json.h"

namespace lemma::api {

Json ToJson(const Model& model, const RunOptions& options, const RunResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RUN_H_
