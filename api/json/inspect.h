// Writes models, plans and memory as JSON.
#ifndef LEMMA_API_JSON_INSPECT_H_
#define LEMMA_API_JSON_INSPECT_H_

#include "api/inspect.h"
#include "base/json.h"

namespace lemma::api {

// graph, format, inputs and outputs (name and type), operators, weight_bytes, hash, and by_operator
// (count, flops and bytes of each). Of an ONNX model also operator_sets, dimensions, and
// unknown_operators with their counts.
Json ToJson(const Model& model);
// graph, backend, kernels, peak_bytes (planned), live_bytes and weight_bytes.
Json ToJson(const Model& model, const ExecutionOptions& execution, const PlanSummary& plan);
// graph, peak_bytes (of the arena), live_bytes by kernel, and peak_kernel, an index of live_bytes.
Json ToJson(const Model& model, const MemoryOverRun& memory);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_INSPECT_H_
