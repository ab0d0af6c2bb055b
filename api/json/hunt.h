// The result of a hunt as JSON.
#ifndef LEMMA_API_JSON_HUNT_H_
#define LEMMA_API_JSON_HUNT_H_

#include "api/hunt.h"
#include "base/json.h"

namespace lemma::api {

Json ToJson(const HuntResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_HUNT_H_
