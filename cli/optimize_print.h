// What `lemma optimize` prints.
#ifndef LEMMA_CLI_OPTIMIZE_PRINT_H_
#define LEMMA_CLI_OPTIMIZE_PRINT_H_

#include "cli/optimize.h"
#include "graph/graph.h"

namespace lemma::cli {

// To standard output: a table and what is to be said of it, or with --json one object. Without -o
// only what --why-not asks for.
void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_PRINT_H_
