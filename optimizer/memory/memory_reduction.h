// What can be done about values that wait in memory: one of them at a time.
//
// A plan of memory is found by whoever chooses among reductions
// (optimizer/memory/rematerialization.h); here is what they are: dropping what waits and computing
// it again, and, where the device has memory of its own, offloading it to the host's and bringing
// it back.
#ifndef LEMMA_OPTIMIZER_MEMORY_MEMORY_REDUCTION_H_
#define LEMMA_OPTIMIZER_MEMORY_MEMORY_REDUCTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/memory/rematerialized_graph.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

// All that is done about a graph's memory.
struct Reductions {
  std::vector<Recomputation> recomputed;

  Reductions Without(int index) const;
};

// A graph with reductions, and its plan.
struct ReducedGraph {
  Reductions reductions;
  RematerializedGraph copied;
  MemoryTimeline timeline;
  double ms = 0;  // what the reductions cost

  std::vector<int64_t> Live() const;  // bytes, by kernel
};

// One more reduction of a ReducedGraph.
struct ReductionChoice {
  Reductions reductions;  // with it
  double score = 0;       // time that it costs by the bytes that it takes away from the peak
};

class MemoryReducer {
 public:
  // Of `graph`, as `measurer` plans it.
  MemoryReducer(const Graph& graph, KernelMeasurer* measurer);

  // What each node costs; before anything else is called.
  absl::Status Price(CostModel* costs);

  // nullopt if the reductions contradict each other.
  absl::StatusOr<std::optional<ReducedGraph>> With(Reductions reductions);

  // What can be done about the buffers that are there while kernel `peak` runs, the cheapest first.
  std::vector<ReductionChoice> Candidates(const ReducedGraph& now, int peak) const;

  // Which of `reductions` there are, those that cost most first.
  std::vector<int> ByCost(const Reductions& reductions) const;

 private:
  double MsOf(const Recomputation& unit) const;
  double MsOf(const Reductions& reductions) const;
  absl::Status PriceTransfers(CostModel* costs);

  const Graph& graph_;
  KernelMeasurer* const measurer_;
  absl::flat_hash_map<const Node*, int> position_;
  std::vector<bool> is_static_;
  std::vector<double> node_ms_;
  std::vector<double> transfer_ms_;  // by node: to the host and back; 0 if that is not offered
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_MEMORY_REDUCTION_H_
