// Prices the nodes of an e-graph one by one.
#ifndef LEMMA_OPTIMIZER_COST_NODE_PRICE_H_
#define LEMMA_OPTIMIZER_COST_NODE_PRICE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/cost/cost_model.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// Expresses a cost model as a sum over nodes. Many models are not such a sum, because back ends
// fuse operators and elide copies. Then a node's price is the least cost that the node was seen to
// add to one of these graphs: an empty graph; a short chain of nodes that ends with a node that can
// compute one of the priced node's operands; a graph passed to LookAt.
class NodePrices {
 public:
  // Both arguments must outlive the object.
  NodePrices(const EGraph* egraph, CostModel* costs) : egraph_(*egraph), costs_(*costs) {}

  // The prices of all nodes by number, in nanoseconds; Cost::kInfinite for a node that cannot run.
  // Leaves, folded nodes, and nodes that were merged into equal nodes cost 0. The price of any
  // other node n comes from CostModel::CostOfOperator if this gives a cost; otherwise from
  // CostModel::CostOf if exact[n], and from CostModel::EstimateOf if not.
  absl::StatusOr<std::vector<int64_t>> All(const std::vector<bool>& exact);

  // Takes note of a graph that consists of nodes of the e-graph. Later calls of All give each of
  // these nodes at most the node's share of the graph's cost (CostModel::SharesOf), so the sum of
  // their prices is at most the graph's cost. No effect if the cost model knows no shares.
  absl::Status LookAt(const Graph& graph);

 private:
  absl::StatusOr<int64_t> Of(int node, bool exact);
  using Chain = std::vector<int>;  // nodes, each after those that it reads
  absl::StatusOr<int64_t> PriceOf(const Chain& chain, bool exact);

  const EGraph& egraph_;
  CostModel& costs_;
  absl::flat_hash_map<int, int64_t> seen_;  // by node: its least share in a graph
  std::vector<Chain> chain_;                // by node: chain that gave its price; the node is last
  absl::flat_hash_map<uint64_t, int64_t> known_, estimated_;  // by the hash of a small graph
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_NODE_PRICE_H_
