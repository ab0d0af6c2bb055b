// What can be done about values that wait in memory: one of them at a time.
//
// A plan of memory is found by whoever chooses among reliefs
// (optimizer/memory/rematerialization.h); here is what they are: dropping what waits and computing
// it again, and, where the device has memory of its own, offloading it to the host's and bringing
// it back.
#ifndef LEMMA_OPTIMIZER_MEMORY_RELIEF_H_
#define LEMMA_OPTIMIZER_MEMORY_RELIEF_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/memory/numbered_copies.h"
#include "runtime/measure.h"

namespace lemma {

// All that is done about a graph's memory.
struct Reliefs {
  std::vector<Recomputation> recomputed;

  Reliefs Without(int index) const;
};

// A graph with reliefs, and its plan.
struct Relieved {
  Reliefs reliefs;
  CopiedGraph copied;
  MemoryTimeline timeline;
  double ms = 0;  // what the reliefs cost

  std::vector<int64_t> Live() const;  // bytes, by kernel
};

// One more relief of a Relieved.
struct ReliefChoice {
  Reliefs reliefs;   // with it
  double score = 0;  // time that it costs by the bytes that it takes away from the peak
};

class Reliever {
 public:
  // Of `graph`, as `measurer` plans it.
  Reliever(const Graph& graph, KernelMeasurer* measurer);

  // What each node costs; before anything else is called.
  absl::Status Price(CostModel* costs);

  // nullopt if the reliefs contradict each other.
  absl::StatusOr<std::optional<Relieved>> With(Reliefs reliefs);

  // What can be done about the buffers that are there while kernel `peak` runs, the cheapest first.
  std::vector<ReliefChoice> Candidates(const Relieved& now, int peak) const;

  // Which of `reliefs` there are, those that cost most first.
  std::vector<int> ByCost(const Reliefs& reliefs) const;

 private:
  double MsOf(const Recomputation& unit) const;
  double MsOf(const Reliefs& reliefs) const;
  absl::Status PriceTransfers(CostModel* costs);

  const Graph& graph_;
  KernelMeasurer* const measurer_;
  absl::flat_hash_map<const Node*, int> position_;
  std::vector<bool> is_static_;
  std::vector<double> node_ms_;
  std::vector<double> transfer_ms_;  // by node: to the host and back; 0 if that is not offered
};

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_MEMORY_RELIEF_H_
