// Writes measured costs as JSON.
#ifndef LEMMA_API_JSON_COSTS_H_
#define LEMMA_API_JSON_COSTS_H_

#include <string>
#include <vector>

#include "api/costs.h"
#include "base/json.h"

namespace lemma::api {

// An object with file (the database) and devices: a list of objects with the
// fields of DeviceCosts.
Json ToJson(const std::string& file, const std::vector<DeviceCosts>& devices);
// An object with file (from which the costs were read), imported and kept.
Json ToJson(const std::string& file, const ImportedCosts& done);
// An object with file (of WantedKernels), device, measured, known, failed and
// left.
Json ToJson(const std::string& file, const MeasuredKernels& done);
// An object with predicted_ms and ms (of the whole model), measuring_seconds, learned, and kernels,
// a list with signature, value (the label of the kernel's result), predicted_ms and ms.
Json ToJson(const Calibration& report);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_COSTS_H_
