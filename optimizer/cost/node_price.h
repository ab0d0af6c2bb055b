// What the nodes of an e-graph cost one by one.
#ifndef LEMMA_OPTIMIZER_COST_NODE_PRICE_H_
#define LEMMA_OPTIMIZER_COST_NODE_PRICE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/cost/cost_model.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// A cost model as a sum over nodes. If it is none, because back ends fuse operators and move data
// for nothing, a node costs the least that it adds: alone, or to any node that an operand may come
// from, which comes after the one that itself adds least to, and so on; and no more than in any
// graph that was looked at.
class NodePrices {
 public:
  // Both must outlive it.
  NodePrices(const EGraph* egraph, CostModel* costs) : egraph_(*egraph), costs_(*costs) {}

  // By node, in nanoseconds; merged ones and leaves cost nothing, nor does what is folded. Nodes
  // that are not `exact` are CostModel::EstimateOf.
  absl::StatusOr<std::vector<int64_t>> All(const std::vector<bool>& exact);

  // Looks at a graph of the e-graph's nodes. After it the sum over them is the graph's cost at
  // most.
  absl::Status LookAt(const Graph& graph);

 private:
  absl::StatusOr<int64_t> Of(int node, bool exact);
  using Chain = std::vector<int>;  // nodes, each after those that it reads
  absl::StatusOr<int64_t> PriceOf(const Chain& chain, bool exact);

  const EGraph& egraph_;
  CostModel& costs_;
  absl::flat_hash_map<int, int64_t> seen_;                    // by node: the least in a graph
  std::vector<Chain> chain_;                                  // by node, which comes last
  absl::flat_hash_map<uint64_t, int64_t> known_, estimated_;  // by the hash of a small graph
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_NODE_PRICE_H_
