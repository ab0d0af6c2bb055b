// Prints the result of `lemma optimize`.
#ifndef LEMMA_CLI_OPTIMIZE_PRINT_H_
#define LEMMA_CLI_OPTIMIZE_PRINT_H_

#include "cli/optimize/optimize.h"
#include "graph/graph.h"

namespace lemma::cli {

// Prints a table with remarks, or one JSON object with --json, to standard output. Without -o it
// prints only the answer to --why-not.
void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_PRINT_H_
