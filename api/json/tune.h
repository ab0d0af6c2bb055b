// Writes tuned tiles as JSON.
#ifndef LEMMA_API_JSON_TUNE_H_
#define LEMMA_API_JSON_TUNE_H_

#include "api/tune.h"
#include "base/json.h"

namespace lemma::api {

// An object with device, file, known, left and kernels. A kernel has size (TunedSize::ToString()),
// operators, steps, tried, tile and model_tile (names of tiles), microseconds and
// model_microseconds.
Json ToJson(const TuneResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_TUNE_H_
