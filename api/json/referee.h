// Writes the referee's result as JSON.
#ifndef LEMMA_API_JSON_REFEREE_H_
#define LEMMA_API_JSON_REFEREE_H_

#include <string>

#include "api/referee.h"
#include "base/json.h"

namespace lemma::api {

// An object about the models in the files `before` and `after`; docs/referee.schema.json describes
// its members.
Json ToJson(const std::string& before, const std::string& after, const RefereeResult& result);
// An object that says whether a certificate is right, and what it proves.
Json ToJson(const VerdictCheck& answer);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_REFEREE_H_
