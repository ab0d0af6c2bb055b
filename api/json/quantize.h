// Writes the result of a quantization as JSON.
#ifndef LEMMA_API_JSON_QUANTIZE_H_
#define LEMMA_API_JSON_QUANTIZE_H_

#include <string>

#include "api/quantize.h"
#include "base/json.h"

namespace lemma::api {

// An object with `model` and `output`, which are paths, and the fields of QuantizeResult by their
// names. The fields of OperatorErrors are members of the operator; for_inputs is bound_for_inputs.
// A number that is not known is null.
Json ToJson(const std::string& model, const std::string& output, const QuantizeResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_QUANTIZE_H_
