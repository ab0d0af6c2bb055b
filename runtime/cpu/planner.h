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

// Memory for values: a part of the arena, or the memory of an input or output of the graph.
struct PlanBuffer {
  enum class Kind { kArena, kInput, kOutput };
  Kind kind = Kind::kArena;
  int index = 0;  // kInput, kOutput: which of the graph's inputs or outputs
  int64_t bytes = 0;
  int first_step = 0, last_step = 0;  // the first and the last step that use the buffer
};

// One kernel of a plan, with the places of its operands and results.
struct CpuStep {
  // A condition on a scalar truth value.
  struct Condition {
    Value value;
    Location at;
    bool holds = true;  // what the value must be
  };
  std::shared_ptr<CpuKernelSpec> spec;
  std::vector<Location> inputs;    // unused for static inputs
  std::vector<int> static_inputs;  // by input: index in CpuPlan::statics or -1
  std::vector<Location> outputs;
  // The step is skipped unless all conditions hold. The value of a condition is valid only if all
  // conditions before it hold.
  std::vector<Condition> conditions;
};

// The plan of one graph (see PlanGraph).
struct CpuPlan {
  WideGraph wide;  // the graph that the steps compute
  std::vector<CpuStep> steps;
  std::vector<PlanBuffer> buffers;
  std::vector<Value> statics;  // static values that some step reads
  // The values of the graph passed to PlanGraph, and their buffers; empty without
  // PlanOptions::with_places.
  std::vector<std::pair<Value, int>> places;

  // Whether the graph's output number `output` may lie in the memory of its input number `input`:
  // no step reads the input after the first step that writes the output, and that step reads each
  // element of the input only to compute the same element of the output.
  bool MayOverwrite(int input, int output) const;

  // Returns the lifetimes of the arena's buffers, and appends their indices in `buffers` to *ids.
  // After them, the result has one lifetime for each step i that needs scratch[i] > 0 additional
  // bytes while it runs; *ids gets no entry for these.
  std::vector<BufferLife> ArenaLives(std::vector<int>* ids,
                                     absl::Span<const int64_t> scratch = {}) const;
  // The nodes of the graph passed to PlanGraph that the step computes, wholly or in part.
  std::vector<NodePtr> NodesOf(const CpuStep& step) const;
  // The steps as text for people.
  std::string Describe() const;
};

struct PlanOptions {
  int threads = 1;
  bool fuse_layout = true;   // see CpuOptions
  bool with_places = false;  // list CpuPlan::places
  WinogradUse winograd = WinogradUse::kWhereFaster;
};

// The graph that a plan with PlanOptions::fuse_layout computes: `whole` before large values are
// divided into blocks (blocks/blocks.h), `divided` after that.
struct GraphInBlocks {
  Graph whole;
  WideGraph divided;
};
GraphInBlocks DividedGraph(const Graph& graph, NodeTraitsCache& traits);

// The plan of `graph`, whose weights need no values. Unimplemented ("unsupported: OP (reason)") for
// an operator without a definition, or for an input or weight of an opaque type (graph/dtype.h);
// InvalidArgument as in CheckLimits (limits.h).
absl::StatusOr<CpuPlan> PlanGraph(const Graph& graph, NodeTraitsCache& traits,
                                  const PlanOptions& options);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_PLANNER_H_
