// Prints the result of `lemma optimize`.
#ifndef LEMMA_CLI_OPTIMIZE_PRINT_H_
#define LEMMA_CLI_OPTIMIZE_PRINT_H_

#include <string>

#include "api/quantize.h"
#include "cli/optimize/optimize.h"
#include "graph/graph.h"

namespace lemma::cli {

// Prints the result to standard output: one JSON object with --json, otherwise a table with
// remarks, then the tables of --explain and the answer to --why-not, if these flags are given.
// Without -o, only the answer to --why-not is printed: as text, or as the JSON object of WhyNotJson
// (api/json/optimize.h). `input` is the input model's graph.
void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome);
// Prints the result of quantizing the optimized model; the quantized model went to `output`. Call
// Print first, but not with --json: then this function prints the object of Print with one more
// member, `quantized` (api/json/quantize.h).
void PrintQuantized(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome,
                    const std::string& output, const api::QuantizedIfFaster& quantized);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_PRINT_H_
