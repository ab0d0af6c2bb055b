// Writes errors of precisions as JSON.
#ifndef LEMMA_API_JSON_PRECISION_H_
#define LEMMA_API_JSON_PRECISION_H_

#include "api/precision.h"
#include "base/json.h"

namespace lemma::api {

// An object with the fields of PrecisionResult. The rows have the fields of PrecisionRow;
// precision is a name, and `unit` is added: the unit roundoff of a factor.
Json ToJson(const PrecisionResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_PRECISION_H_
