// Writes findings to files.
#ifndef LEMMA_API_HUNTING_RECORD_H_
#define LEMMA_API_HUNTING_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "api/hunt.h"
#include "base/json.h"

namespace lemma::api {

// The record of a finding: an object with the fields of Finding and of hunt::Difference under their
// names, and with engine (the parameter `engine`: the engine's name and version), lemma (Lemma's
// version), opset and threads. case_number is called case; model is the graph as text. The field
// level, tensors, and fields that are not set are left out.
Json ToJson(const Finding& finding, const std::string& engine);

// Writes model.onnx and input_0.pb, … to a folder, which is created if missing. Replaces no file
// before all files are complete on disk. Errors of hunt::Serialized: Unimplemented if the subject
// has no form in ONNX.
absl::Status WriteSubject(const hunt::Subject& subject, const std::string& folder);

// Writes the reduced model to finding.folder as WriteSubject does, and in the same folder the
// outputs by the definitions (expected_0.pb, …), the outputs by the engine (seen_0.pb, …) and the
// record (finding.json). Replaces no file before all files are complete on disk.
absl::Status WriteFinding(const Finding& finding, const std::string& engine);

}  // namespace lemma::api

#endif  // LEMMA_API_HUNTING_RECORD_H_
