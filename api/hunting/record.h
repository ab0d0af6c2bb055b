// Writes findings to files.
#ifndef LEMMA_API_HUNTING_RECORD_H_
#define LEMMA_API_HUNTING_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "api/hunt.h"
#include "base/json.h"

namespace lemma::api {

// The record of a finding: an object with the fields of Finding and hunt::Difference by their names
// (case_number is case; the model is a text), engine (`engine`, its name and version), lemma (the
// version), opset and threads. Without the tensors.
Json ToJson(const Finding& finding, const std::string& engine);

// Writes model.onnx and input_0.pb, … to a folder, which is created if missing; all files or none.
// Errors of hunt::Serialized: Unimplemented if the subject has no form in ONNX.
absl::Status WriteSubject(const hunt::Subject& subject, const std::string& folder);

// Writes the reduced model to finding.folder as WriteSubject does, and beside it expected_0.pb, …,
// seen_0.pb, … and the record, finding.json; all files or none.
absl::Status WriteFinding(const Finding& finding, const std::string& engine);

}  // namespace lemma::api

#endif  // LEMMA_API_HUNTING_RECORD_H_
