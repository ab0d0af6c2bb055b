// Writes models, plans and memory, the parts of a machine, and checks of operators as JSON.
#ifndef LEMMA_API_JSON_INSPECT_H_
#define LEMMA_API_JSON_INSPECT_H_

#include "api/define.h"
#include "api/doctor.h"
#include "api/inspect.h"
#include "base/json.h"

namespace lemma::api {

// An object with graph, format, inputs and outputs (lists of objects with name and type), operators
// (their number), weight_bytes, hash (of the graph's structure), and by_operator (count, flops and
// bytes by the operator's name). An ONNX model also gives operator_sets (a version by domain),
// dimensions (by name, the sizes of the dimensions that are symbolic in the file; the model must
// have been read with a number for each of them), and unknown_operators (a count by name).
Json ToJson(const Model& model);
// An object with graph, backend, kernels (their number), peak_bytes (of the arena), live_bytes and
// weight_bytes (as in MemoryUse, runtime/executor.h).
Json ToJson(const Model& model, const ExecutionOptions& execution, const PlanSummary& plan);
// An object with graph, peak_bytes (of the arena), live_bytes (a number for each kernel, in the
// order in which the kernels run), and peak_kernel (the index of the largest number in live_bytes;
// if there are several, the first).
Json ToJson(const Model& model, const MemoryOverRun& memory);

// An object with version (of Lemma) and findings: a list of objects with the fields of
// ExaminedPart.
Json ToJson(const std::vector<ExaminedPart>& parts);

// An object with name (the operator's) and the fields of OperatorCheck except the page.
Json ToJson(const std::string& name, const OperatorCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_INSPECT_H_
