// Writes findings to files.
#ifndef LEMMA_API_HUNTING_RECORD_H_
#define LEMMA_API_HUNTING_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "api/hunt.h"
#include "base/json.h"

namespace lemma::api {

// `engine`: its name and version.
Json ToJson(const Finding& finding, const std::string& engine);

// Writes model.onnx and input_0.pb, … to a folder, which is created if missing.
absl::Status WriteSubject(const hunt::Subject& subject, const std::string& folder);

// The same for the reduced model, to finding.folder, with expected_0.pb, …, seen_0.pb, … and
// finding.json, the record.
absl::Status WriteFinding(const Finding& finding, const std::string& engine);

}  // namespace lemma::api

#endif  // LEMMA_API_HUNTING_RECORD_H_
