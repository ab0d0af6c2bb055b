// From a graph to launches of kernels, with the place of every value. Needs no GPU.
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

// Memory of one value, or of a temporary between the kernels of a step.
struct Buffer {
  enum class Kind {
    kArena,
    kInput,   // of the graph; in the arena too, so that a captured run has fixed addresses
    kStatic,  // a weight, or what depends on weights alone: kept between runs
    kHost,    // offloaded: in pinned memory of the host
  };
  Kind kind = Kind::kArena;
  TensorType type;
  int first = 0, last = 0;  // launches, unless kStatic
  int64_t offset = 0;       // bytes from the start of the arena, the static values or the host's
};

// One of several that are a step side by side: so many of its nodes and slots.
struct StepPart {
  size_t nodes = 0, slots = 0;
};

// Fused applications as kernels; or several such that have nothing to do with each other; or a copy
// between the device's and the host's memory: no program, from buffer 0 to buffer 1.
struct Step {
  std::vector<NodePtr> nodes;  // operands before users
  std::string operators;       // "conv2d+add+relu"; "106 mul+sub, 54 add" if several
  std::shared_ptr<const codegen::GridProgram> program;
  std::vector<int> buffers;  // of each slot of the program; -1: no kernel uses it
  // Operators, types and a hash of their meaning: equal for equal kernels in any graph. Empty where
  // it is several.
  std::string signature;
  std::vector<StepPart> parts;  // in order; empty where it is one
};

struct Launch {
  int step = 0, kernel = 0;  // kernel -1: a copy
  // Earlier launches that have to end before this one starts, ascending: what it reads, and what
  // reads or wrote the memory that it writes; without those that others of these wait for. Any
  // other may run beside it.
  std::vector<int> after;
};

struct CudaPlan {
  std::vector<Step> steps;
  std::vector<Launch> launches;  // in an order that keeps `after`
  std::vector<Buffer> buffers;
  std::vector<Value> statics;        // the value of each static buffer, in order
  std::vector<int> static_buffers;   // its buffer
  std::vector<int> inputs, outputs;  // buffers of the graph's inputs and outputs
  // Of the graph. The buffers of such inputs are theirs alone; the output's is the same where the
  // new value is written over the old one.
  std::vector<StatePair> state;
  std::vector<std::pair<Value, int>> places;  // the buffers of values; empty unless asked for
  MemoryUse memory;

  bool IsCopy(const Launch& launch) const { return launch.kernel < 0; }
  // Of one that is no copy.
  const codegen::GridKernel& KernelOf(const Launch& launch) const {
    return steps[launch.step].program->kernels[launch.kernel];
  }
  // The buffers of a launch's arguments: what it reads, so many, then what it writes.
  std::vector<int> Arguments(const Launch& launch) const;
  size_t NumReads(const Launch& launch) const;
  // The graph's name for what a step computes, or operators and number.
  std::string LabelOf(const Graph& graph, int step) const;
  std::string Describe(const Graph& graph) const;
};

struct PlanOptions {
  codegen::GridOptions grid = {};
  // Whether small element-wise kernels at the end, on which no other depends (updates of small
  // parameters), are one launch. Costs are measured without.
  bool side_by_side = true;
  bool with_places = false;  // list CudaPlan::places
  // Whether memory is used again only some launches after its last use, where that lets more
  // kernels run side by side and takes little more memory. Without it, as little as possible.
  bool reuse_late = false;
};

// Unimplemented ("unsupported: OP (reason)") for an operator without a definition. Weights need no
// values. memory.planned_bytes holds inputs, outputs and all values between.
absl::StatusOr<CudaPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                   const PlanOptions& options = {});

// Different kernels of a plan, in sets that are compiled each by itself, and so side by side.
using KernelSet = std::vector<const codegen::GridKernel*>;
std::vector<KernelSet> KernelSetsOf(const CudaPlan& plan);

// "conv2d+add+relu".
std::string OperatorsOf(const std::vector<NodePtr>& nodes);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_PLAN_H_
