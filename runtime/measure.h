// The measuring interface: what would a graph's kernels cost on this device?
//
// A back end plans a graph cheaply, without packing weights or allocating values, into kernels with
// stable signatures. Equal signatures take the same time on the same device, so a cost model
// measures each once and keeps the result under (device(), signature). The cost of a graph is the
// sum over its kernels.
#ifndef LEMMA_RUNTIME_MEASURE_H_
#define LEMMA_RUNTIME_MEASURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/loops/cost.h"
#include "runtime/plan/memory_plan.h"

namespace lemma {

// What a back end needs to build one kernel; opaque to others.
struct KernelSpec {
  virtual ~KernelSpec() = default;
};

struct PlannedKernel {
  // Operators, shapes, layouts, attributes, fusion: one printable line, independent of names,
  // weight values and the position in the graph.
  std::string signature;
  std::shared_ptr<const KernelSpec> spec;
  std::vector<NodePtr> nodes;  // the operators of the graph that it computes; none: it moves data
};

struct KernelPlan {
  std::vector<PlannedKernel> kernels;  // in execution order, repetitions included
  // Of intermediate values, and of what kernels without weights need besides while they run.
  int64_t peak_bytes = 0;
};

// A plan with the lifetimes of what its peak counts.
struct MemoryTimeline {
  std::vector<PlannedKernel> kernels;           // in execution order; lifetimes count them
  std::vector<std::vector<int>> reads, writes;  // by kernel: which buffers
  std::vector<BufferLife> buffers;              // of the arena
  int first_scratch = 0;  // from this one on they are what kernels need while they run
  std::vector<std::pair<Value, int>> places;  // values that lie in one of these
  int64_t peak_bytes = 0;                     // size of the arena
};

class KernelMeasurer {
 public:
  virtual ~KernelMeasurer() = default;

  // The key of measurements: device, back end, library version, threads.
  virtual std::string device() const = 0;

  // The kernels that a compiled `graph` would run. A few microseconds per operator. Weights need no
  // values. Unimplemented for graphs that cannot be run at all.
  virtual absl::StatusOr<KernelPlan> Plan(const Graph& graph) = 0;

  // The same plan with lifetimes; Unimplemented where the back end does not tell.
  virtual absl::StatusOr<MemoryTimeline> Timeline(const Graph& /*graph*/) {
    return absl::UnimplementedError("the back end tells no lifetimes");
  }

  // Whether what is offloaded (graph/ops/training/offload.cc) leaves the memory that peaks count.
  virtual bool CanOffload() const { return false; }

  // What the kernel's operators compute, and what it reads and writes: what is between fused
  // operators counts for no bytes. 0 flops where a definition cannot be counted.
  virtual Work WorkOf(const PlannedKernel& kernel) const = 0;

  // Does ahead what measuring each of `kernels` would do first and several processors can do
  // together: compiles them.
  virtual absl::Status Prepare(absl::Span<const PlannedKernel> /*kernels*/) {
    return absl::OkStatus();
  }

  // Median milliseconds of one execution on its own, on random but sane values: as in a large
  // model, where operands come from the kernels just before and weights from memory, since those
  // of all other kernels went through the caches since the last run. Takes some milliseconds to
  // some hundreds.
  virtual absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) = 0;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_MEASURE_H_
