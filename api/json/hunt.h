// Writes the result of a hunt as JSON.
#ifndef LEMMA_API_JSON_HUNT_H_
#define LEMMA_API_JSON_HUNT_H_

#include "api/hunt.h"
#include "base/json.h"

namespace lemma::api {

// An object with the fields of HuntResult by their names. A Tally is an object with count and
// first_case; a Finding is the object of ToJson in api/hunting/record.h.
Json ToJson(const HuntResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_HUNT_H_
