// Extracts the cheapest graph from an e-graph.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
#define LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// Nodes that form a graph without cycles: each needed class has one value that provides it.
struct Selection {
  // By EGraph::ClassOf: the value that provides the class; node < 0 if the class is not needed.
  std::vector<ValueRef> provider;
  int64_t price = 0;  // sum over the nodes, each counted once
};

struct Extraction {
  Selection best;
  // A lower bound on the prices of all graphs considered, with a relative tolerance of 1e-6. At
  // most best.price.
  int64_t bound = 0;
  int num_left_out = 0;  // outputs of nodes that are excluded because they would close a cycle
};

struct ExtractionOptions {
  // Limit on nodes of the solver's search tree. At the limit, the bound is what is proved so far.
  int max_nodes = 2000;
};

// In both functions, price[n] is the price of computing node n, in nanoseconds; Cost::kInfinite:
// node n must not be used. An output of a node that would close a cycle with nodes of lower numbers
// is excluded (as in Yang et al., 2021). So no graph considered has a cycle, but some acyclic
// graphs are not considered. There is at least one graph if the prices of the original nodes are
// finite; FailedPrecondition if there is none.

// Works bottom up: each class takes the node with the lowest price of itself and all nodes below
// it, each counted once. The result need not be the cheapest graph.
absl::StatusOr<Selection> ExtractGreedily(const EGraph& egraph, const std::vector<int64_t>& price);

// Solves an integer program with CBC. Variables: x_n, whether node n is computed; y_v, whether
// value v provides its class. It minimizes the sum of price_n x_n. Constraints: y_v <= x_n for each
// value v of node n; the y of the values in each output's class sum to at least 1; for classes c
// and d, the y of the values in d sum to at least the sum of the y of the values in c that have d
// as an operand. Deterministic.
absl::StatusOr<Extraction> Extract(const EGraph& egraph, const std::vector<int64_t>& price,
                                   const ExtractionOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
