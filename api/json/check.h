// Writes the results of checks as JSON.
#ifndef LEMMA_API_JSON_CHECK_H_
#define LEMMA_API_JSON_CHECK_H_

#include <string>

#include "api/check.h"
#include "base/json.h"

namespace lemma::api {

// `advice`: what the caller adds to the problem, such as how it spells the option that might help.
Json ToJson(const CheckResult& answer, const std::string& advice = "");

// `backend`: whose plan was checked.
Json ToJson(const PlanCheck& check, const std::string& backend);
Json ToJson(const KernelCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_CHECK_H_
