// Formats the report of `lemma optimize --why-not` (api/optimization/why_not.h).
#ifndef LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_
#define LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_

#include <string>

#include "api/optimization/why_not.h"

namespace lemma::cli {

// `numerics` is the flag's value. `memory`: whether to include changes of memory.
std::string WhyNotText(const api::WhyNotReport& report, const std::string& numerics, bool memory);
// Why the search did not use the rule; "" if it did.
std::string Exclusion(const api::WhyNotReport& report, const std::string& numerics);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_
