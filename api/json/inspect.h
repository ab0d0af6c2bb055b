// Writes models, plans and memory as JSON.
#ifndef LEMMA_API_JSON_INSPECT_H_
#define LEMMA_API_JSON_INSPECT_H_

#include "api/inspect.h"
#include "base/json.h"

namespace lemma::api {

Json ToJson(const Model& model);
Json ToJson(const Model& model, const ExecutionOptions& execution, const PlanSummary& plan);
Json ToJson(const Model& model, const MemoryOverRun& memory);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_INSPECT_H_
