// Formats the report of `lemma optimize --explain` (api/optimization/explanation.h).
#ifndef LEMMA_CLI_OPTIMIZE_EXPLAIN_TEXT_H_
#define LEMMA_CLI_OPTIMIZE_EXPLAIN_TEXT_H_

#include <string>

#include "api/optimize.h"

namespace lemma::cli {

// A table of the rules that were applied, and a table of up to 20 rules that match in the result.
// result.alternatives must be set.
std::string ExplainText(const api::OptimizeResult& result);

// "0.3 % faster, within noise (±0.8 %)". `ratio` is the time of a graph divided by the time of the
// input.
std::string PairedText(const api::RatioInterval& ratio);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_EXPLAIN_TEXT_H_
