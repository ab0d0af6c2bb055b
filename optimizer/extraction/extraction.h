// Picking one graph out of an e-graph: the cheapest.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
#define LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// Nodes that form a graph: each class that is needed has one provider, without cycles.
struct Selection {
  // By EGraph::ClassOf: the value of the class that is computed; node < 0 where none is.
  std::vector<ValueRef> provider;
  int64_t price = 0;  // sum over the nodes, each counted once
};

struct Extraction {
  Selection best;
  // No graph that is looked at has a sum that is lower by more than a millionth. At most
  // best.price.
  int64_t bound = 0;
  int num_left_out = 0;  // outputs of nodes that would close a cycle
};

struct ExtractionOptions {
  // Nodes of the solver's search tree. Used up, the bound is what is proved until then.
  int max_nodes = 2000;
};

// price[n] is what node n adds; Cost::kInfinite: it is not to be used. An output of a node that
// would close a cycle with the nodes numbered below is left out (as in Yang et al., 2021): so no
// graph that is looked at has a cycle, but some without one are not looked at. What is left is a
// graph at least, if the prices of the original nodes are finite; FailedPrecondition if there is
// none.

// Bottom up: each class takes the node whose own price and that of all below it, counted once, is
// lowest. Need not be the cheapest graph.
absl::StatusOr<Selection> ExtractGreedily(const EGraph& egraph, const std::vector<int64_t>& price);

// The cheapest graph as the solution of an integer program (solved by CBC): x_n, whether node n is
// computed; y_v, whether value v provides its class. Minimal sum of price_n x_n, such that y_v <=
// x_n for v of n, the y of each output's class sum to 1 at least, and the y of each class to as
// much as those of any one class that are computed from it. Deterministic.
absl::StatusOr<Extraction> Extract(const EGraph& egraph, const std::vector<int64_t>& price,
                                   const ExtractionOptions& options = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_EXTRACTION_H_
