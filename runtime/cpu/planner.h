// Plans the execution of a graph as steps: kernels in order, with a place in memory for every
// operand. Functions of CpuPlan are in cpu_plan.cc.
#ifndef LEMMA_RUNTIME_CPU_PLANNER_H_
#define LEMMA_RUNTIME_CPU_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/cpu/widening.h"
#include "runtime/plan/layout.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cpu {

// The place of a value: strides over a buffer, from an offset in elements.
struct Location {
  int buffer = -1;
  int64_t offset = 0;
  Strides strides;
};

struct PlanBuffer {
  enum class Kind { kArena, kInput, kOutput };
  Kind kind = Kind::kArena;
  int index = 0;  // kInput, kOutput: which of the graph's inputs or outputs
  int64_t bytes = 0;
  int first_step = 0, last_step = 0;  // the steps that use it
};

struct CpuStep {
  // A condition on a scalar truth value.
  struct Condition {
    Value value;
    Location at;
    bool holds = true;  // what the value must be
  };
  std::shared_ptr<CpuKernelSpec> spec;
  std::vector<Location> inputs;    // unused for static inputs
  std::vector<int> static_inputs;  // index into CpuPlan::statics, or -1
  std::vector<Location> outputs;
  // The step is skipped unless all hold. The value of each is valid if those before it hold.
  std::vector<Condition> conditions;
};

struct CpuPlan {
  WideGraph wide;  // the graph that the steps compute
  std::vector<CpuStep> steps;
  std::vector<PlanBuffer> buffers;
  std::vector<Value> statics;  // static values that some step reads
  // The values of the graph passed to PlanGraph, and their buffers; empty unless requested.
  std::vector<std::pair<Value, int>> places;

  // Whether output `output` may lie in the memory of input `input`. Nothing may read the input
  // after the step that writes the output, and that step may read it only element by element.
  bool MayOverwrite(int input, int output) const;

  // Lifetimes of the arena's buffers; *ids receives their indices in `buffers`. They are followed
  // by those of `scratch`, the additional bytes that each step needs while it runs.
  std::vector<BufferLife> ArenaLives(std::vector<int>* ids,
                                     absl::Span<const int64_t> scratch = {}) const;
  // The nodes of the graph passed to PlanGraph that the step computes, wholly or in part.
  std::vector<NodePtr> NodesOf(const CpuStep& step) const;
  std::string Describe() const;
};

struct PlanOptions {
  int threads = 1;
  bool fuse_layout = true;   // see CpuOptions
  bool with_places = false;  // list CpuPlan::places
};

// The plan of `graph`, whose weights need no values. Unimplemented ("unsupported: OP (reason)") for
// an operator without a definition; InvalidArgument as in CheckLimits (limits.h).
absl::StatusOr<CpuPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                  const PlanOptions& options);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_PLANNER_H_
