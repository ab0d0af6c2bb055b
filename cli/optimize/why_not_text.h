// Formats the report of `lemma optimize --why-not` (api/optimization/why_not.h).
#ifndef LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_
#define LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_

#include <string>

#include "api/optimization/why_not.h"

namespace lemma::cli {

// The report as lines for people. `numerics` is the value of --numerics. `memory`: whether to
// include changes of peak memory.
std::string WhyNotText(const api::WhyNotReport& report, const std::string& numerics, bool memory);
// Why the search did not use the rule (WhyNotReport::excluded); "" if the rule was not excluded.
std::string Exclusion(const api::WhyNotReport& report, const std::string& numerics);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_WHY_NOT_TEXT_H_
