// Plans a graph as kernel launches with a place for every value. Needs no GPU.
#ifndef LEMMA_RUNTIME_CUDA_CUDA_PLAN_H_
#define LEMMA_RUNTIME_CUDA_CUDA_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/executor.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/schedule.h"

namespace lemma::cuda {

// The memory of one value, or of a temporary between the kernels of a step.
struct Buffer {
  enum class Kind {
    kArena,
    kInput,   // of the graph; also in the arena, so that a captured run has fixed addresses
    kStatic,  // a weight, or a value that depends only on weights: kept between runs
    kHost,    // an offloaded value, in the host's pinned memory
  };
  Kind kind = Kind::kArena;
  TensorType type;
  // The first and the last launch that use the buffer, counted from 1. 0: before all launches;
  // number of launches + 1: after all launches; first > last: the buffer is not used.
  int first = 0, last = 0;
  int64_t offset = 0;  // bytes from the start of the arena, static or host memory
};

// One part of a horizontally fused step: how many nodes and slots it has.
struct StepPart {
  size_t nodes = 0, slots = 0;
};

// A step is one of three things: a group of fused applications, as one or several kernels; several
// such groups, independent of each other, fused horizontally; or a copy between device and host
// memory, from buffers[0] to buffers[1], with nullptr as its program.
struct CudaStep {
  std::vector<NodePtr> nodes;  // operands before users
  std::string operators;       // "conv2d+add+relu"; "54 add, 106 mul+sub" if fused horizontally
  std::shared_ptr<const codegen::GridProgram> program;
  std::vector<int> buffers;  // for each slot of the program; -1: no kernel uses the slot
  // Operators, types and a hash of the operators' meaning: equal for equal kernels in any graph.
  // Empty for a horizontally fused step.
  std::string signature;
  std::vector<StepPart> parts;  // in order; empty unless fused horizontally
};

// One kernel or copy that the device executes.
struct Launch {
  int step = 0, kernel = 0;  // kernel -1: a copy
  // Earlier launches that must end before this launch starts, ascending. They write memory that
  // this launch reads, or use memory that this launch writes. Kernels of one step that write parts
  // of one result do not wait for each other. A launch is left out if another launch in the list
  // waits for it, directly or through others. Two launches may run at the same time if neither
  // waits for the other.
  std::vector<int> after;
};

struct CudaPlan {
  std::vector<CudaStep> steps;
  std::vector<Launch> launches;  // in an order that respects `after`
  std::vector<Buffer> buffers;
  std::vector<Value> statics;        // the value of each static buffer, in order
  std::vector<int> static_buffers;   // the buffer of each of `statics`
  std::vector<int> inputs, outputs;  // buffers of the graph's inputs and outputs
  // State variables of the graph. A state input has a buffer of its own; the output has the same
  // buffer if the new value overwrites the old one.
  std::vector<StatePair> state;
  std::vector<std::pair<Value, int>> places;  // the buffers of values; empty unless requested
  MemoryUse memory;

  bool IsCopy(const Launch& launch) const { return launch.kernel < 0; }
  // For a launch that is not a copy.
  const codegen::GridKernel& KernelOf(const Launch& launch) const {
    return steps[launch.step].program->kernels[launch.kernel];
  }
  // The buffers of a launch's arguments: first NumReads buffers that the launch reads, then the
  // buffers that it writes.
  std::vector<int> Arguments(const Launch& launch) const;
  size_t NumReads(const Launch& launch) const;
  // The graph's label for the step's result; without a label, the step's number: "#7".
  std::string LabelOf(const Graph& graph, int step) const;
  // The plan as text for people. `graph`: the graph that was planned, here and above.
  std::string Describe(const Graph& graph) const;
};

struct PlanOptions {
  codegen::GridOptions grid = {};
  // Whether to fuse small independent element-wise kernels at the end (updates of small parameters)
  // into one launch. Costs are measured without this.
  bool horizontal_fusion = true;
  bool with_places = false;  // list CudaPlan::places
  // Whether memory may stay unused for up to 16 launches after its last use, if that lets more
  // kernels run at the same time for little more memory. Otherwise the plan takes as little memory
  // as possible.
  bool reuse_late = false;
};

// The plan of `graph`, whose sizes must be known and whose weights need no values. Call
// StoreFactors (fusion/store_factors.h) first. Unimplemented for an operator without a definition
// ("unsupported: OP (reason)"), for an input or weight of an opaque type (graph/dtype.h), or for a
// value whose type is a small float or an integer of 4 or 2 bits. memory.planned_bytes counts
// inputs, outputs and all intermediate values, except those in the host's memory.
absl::StatusOr<CudaPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                   const PlanOptions& options = {});

// The size by which a table of tiles knows the kernel, which must be by tile or streamed.
codegen::TunedSize TunedSizeOf(const codegen::GridKernel& kernel);

// Distinct kernels of a plan, in sets that are compiled separately and so in parallel. The pointers
// point into the plan's programs.
using KernelSet = std::vector<const codegen::GridKernel*>;
std::vector<KernelSet> KernelSetsOf(const CudaPlan& plan);

// The names of the nodes' operators in one text, such as "conv2d+add+relu".
std::string OperatorsOf(const std::vector<NodePtr>& nodes);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_PLAN_H_
