// Writes measured costs as JSON.
#ifndef LEMMA_API_JSON_COSTS_H_
#define LEMMA_API_JSON_COSTS_H_

#include <string>
#include <vector>

#include "api/costs.h"
#include "base/json.h"

namespace lemma::api {

// The devices of the database in `file`.
Json ToJson(const std::string& file, const std::vector<DeviceCosts>& devices);
// The result of reading costs from the text in `file`.
Json ToJson(const std::string& file, const ImportedCosts& done);
Json ToJson(const Calibration& report);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_COSTS_H_
