// Writes the result of a quantization as JSON.
#ifndef LEMMA_API_JSON_QUANTIZE_H_
#define LEMMA_API_JSON_QUANTIZE_H_

#include <string>

#include "api/quantize.h"
#include "base/json.h"

namespace lemma::api {

// An object with `model` and `output`, which are paths, and the fields of QuantizeResult by their
// names, with two exceptions: the fields of OperatorErrors are members of the operator, and
// for_inputs is called bound_for_inputs; the name of an OutputError is called output. A number that
// is not known is null.
Json ToJson(const std::string& model, const std::string& output, const QuantizeResult& result);
// An object with `output`, `kept` (why the model in f32 was kept, or null) and `result`: the object
// above, or null.
Json ToJson(const std::string& model, const std::string& output, const QuantizedIfFaster& outcome);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_QUANTIZE_H_
