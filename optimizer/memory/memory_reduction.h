// Memory reductions: changes that take one buffer away from the peak of a graph's memory plan.
//
// A reduction drops a value that waits for its next use and recomputes it or, on a device with its
// own memory, offloads it to host memory and fetches it back. This file lists and prices
// reductions; optimizer/memory/rematerialization.h chooses among them.
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

// All reductions that are applied to a graph. An empty element stands for a reduction that was
// taken back or merged into a later one.
struct Reductions {
  std::vector<Recomputation> recomputed;  // recomputations and offloads (Recomputation::fetched)

  // These reductions with recomputed[index] taken back.
  Reductions Without(int index) const;
};

// A graph with its reductions, and its memory plan.
struct ReducedGraph {
  Reductions reductions;
  RematerializedGraph copied;  // the graph with the reductions
  MemoryTimeline timeline;     // the plan of `copied`
  double ms = 0;               // time that the reductions add

  std::vector<int64_t> Live() const;  // by kernel: bytes in use while the kernel runs
};

// A possible next reduction of a ReducedGraph.
struct ReductionChoice {
  Reductions reductions;  // including the new one
  double score = 0;       // added ms per byte that leaves the peak
};

class MemoryReducer {
 public:
  // Reduces the memory of `graph`, as `measurer` plans it. Both must outlive the reducer.
  MemoryReducer(const Graph& graph, KernelMeasurer* measurer);

  // Prices the nodes of the graph; must be called before the other functions.
  absl::Status Price(CostModel* costs);

  // The graph with these reductions. nullopt if they contradict each other (WithCopies). Errors are
  // those of KernelMeasurer::Timeline.
  absl::StatusOr<std::optional<ReducedGraph>> With(Reductions reductions);

  // Possible reductions of buffers that are live while kernel `peak` runs; the least score first.
  std::vector<ReductionChoice> Candidates(const ReducedGraph& now, int peak) const;

  // The indices of the non-empty elements of `reductions`, the most expensive first.
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
  std::vector<double> transfer_ms_;  // by node: to the host and back; 0: not offered
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_MEMORY_REDUCTION_H_
