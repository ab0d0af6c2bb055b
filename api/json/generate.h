// Writes the figures of a run of the generator as JSON.
#ifndef LEMMA_API_JSON_GENERATE_H_
#define LEMMA_API_JSON_GENERATE_H_

#include <vector>

#include "api/generation/figures.h"
#include "base/json.h"
#include "base/process_use.h"

namespace lemma::api {

// An object with the figures by their names, and three more members.
// enumeration_cpu_s: the processor seconds in `enumeration`, the process's use
// until the enumeration was done. cpu_s and peak_mb: the processor seconds and
// the peak memory (in units of 2^20 bytes) in `all`, the use of the whole
// process.
Json ToJson(const std::vector<Figure>& figures, const ProcessUse& enumeration,
            const ProcessUse& all);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_GENERATE_H_
