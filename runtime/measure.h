// Estimates the time of a graph's kernels on a device by measuring each kernel once.
//
// A back end splits a graph into kernels. This is cheap: it neither packs weights nor allocates
// values. Each kernel has a signature, and kernels with equal signatures take the same time on one
// device, in every graph and in every run of the program. So a cost model measures each signature
// once and keeps the time under the key (device(), signature). The cost of a graph is the sum of
// the times of its kernels. Implemented in runtime/cpu/cpu_measurer.cc,
// runtime/cuda/cuda_measurer.cc and runtime/onnxruntime/ort_measurer.cc.
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

// The data from which a back end builds one kernel. Only this back end knows
// its content.
struct KernelSpec {
  virtual ~KernelSpec() = default;
};

struct PlannedKernel {
  // Operators, shapes, layouts, attributes and fusion in one printable line. Independent of names,
  // weight values and the position in the graph.
  std::string signature;
  std::shared_ptr<const KernelSpec> spec;
  std::vector<NodePtr> nodes;  // operators that the kernel computes; empty: it only moves data
};

// Properties of a kernel that are known without timing it, for the comparison of two plans.
struct KernelTraits {
  // The main work in one line: the implementation, the first operator with its attributes, and the
  // types of the operands of this operator and of the result, with the order of their dimensions in
  // memory. Kernels with equal cores do the same main work. The core of an element-wise kernel has
  // no operator; all its operators are in `fused`. "": no core is known, as for a kernel that only
  // moves data.
  std::string core;
  // The operators fused into the main work, one line each, sorted. An activation such as silu has
  // one line for each of its scalar functions instead, also if it is written as two operators.
  // Additions of a known vector, such as a bias, are left out.
  std::vector<std::string> fused;
  int operators = 0;     // the number of operators that the kernel computes
  Work work;             // as KernelMeasurer::WorkOf
  double gap_bytes = 0;  // bytes of those operands and results that have gaps between elements
};

struct KernelPlan {
  std::vector<PlannedKernel> kernels;  // in execution order, with repetitions
  // The size of the plan's arena: intermediate values and scratch memory; on a GPU, inputs and
  // outputs too. On the CPU, the scratch memory of kernels with weights is not known and not
  // counted. 0 if the back end does not know the size.
  int64_t peak_bytes = 0;
};

// A plan with the lifetimes of the buffers that are counted in its peak memory. `first` and `last`
// of a BufferLife are indices in `kernels`.
struct MemoryTimeline {
  std::vector<PlannedKernel> kernels;           // in execution order
  std::vector<std::vector<int>> reads, writes;  // by kernel: indices of buffers
  std::vector<BufferLife> buffers;              // in the arena
  int first_scratch = 0;  // from this index on, `buffers` are scratch memory of running kernels
  std::vector<std::pair<Value, int>> places;  // values in buffers, with the buffer's index
  int64_t peak_bytes = 0;                     // size of the arena
};

class KernelMeasurer {
 public:
  virtual ~KernelMeasurer() = default;

  // The part of the key that does not depend on the kernel: back end, device, library version, and
  // options such as the number of threads.
  virtual std::string device() const = 0;

  // The kernels that `graph` would run if it were compiled (on a GPU: without factors stored in
  // narrower types, and without horizontal fusion). On the CPU, this takes a few
  // microseconds per operator if kernels with the same signatures were planned before. Weights need
  // no values. Unimplemented for graphs that this back end cannot run. The CPU and ONNX Runtime
  // leave out opaque operators.
  virtual absl::StatusOr<KernelPlan> Plan(const Graph& graph) = 0;

  // The same plan with lifetimes; Unimplemented if the back end does not know them.
  virtual absl::StatusOr<MemoryTimeline> Timeline(const Graph& /*graph*/) {
    return absl::UnimplementedError("the back end tells no lifetimes");
  }

  // Whether the back end can keep offloaded values (graph/ops/training/offload.cc) in the host's
  // memory, so that the peak memory does not include them.
  virtual bool CanOffload() const { return false; }

  // The operations of the kernel's operators, and the bytes that it reads and writes. Values
  // between fused operators count no bytes. Operators that cannot be counted add no operations.
  virtual Work WorkOf(const PlannedKernel& kernel) const = 0;

  // The kernel's traits. By default without a core.
  virtual KernelTraits TraitsOf(const PlannedKernel& kernel) const {
    return {"", {}, static_cast<int>(kernel.nodes.size()), WorkOf(kernel)};
  }

  // Prepares measurements of `kernels` on several processors at once, for instance by compiling the
  // kernels. Optional.
  virtual absl::Status Prepare(absl::Span<const PlannedKernel> /*kernels*/) {
    return absl::OkStatus();
  }

  // The median time of one execution of a kernel that Plan gave, in milliseconds. The kernel runs
  // alone, on made-up values of ordinary magnitude; integer types get 0. On the CPU, the caches
  // are in the state that they have in a large model: operands come from the preceding kernels, and
  // weights from main memory, since other kernels' weights have displaced them. On a GPU, operands
  // are in the caches if they fit, and a kernel without `spec` is what its nodes compute. On the
  // CPU, a measurement executes the kernel 5 to 50 times, usually for 2 to 200 milliseconds in all.
  virtual absl::StatusOr<double> MeasureMs(const PlannedKernel& kernel) = 0;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_MEASURE_H_
