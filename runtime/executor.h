// Execution of graphs: one interface for every back end.
#ifndef LEMMA_RUNTIME_EXECUTOR_H_
#define LEMMA_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "kernels/loops/cost.h"

namespace lemma {

struct CompileOptions {
  // Threads within a kernel. More than one pay only on a machine that has nothing else to do: the
  // library's threads wait for each other, and one that lost its processor holds up all.
  int threads = 1;
  // Whether a run may write the new values of state variables (graph/training_state.h) over the old
  // ones. Then the result shares the input's memory, which
  // must be the caller's alone; where a reader of the old value comes late, it still gets memory of
  // its own.
  bool update_state_in_place = false;
};

// One kernel of a run. A kernel may compute several fused operators.
struct KernelTiming {
  std::string kernel;  // "conv+relu", "element-wise", …: the back end's name for it
  std::string label;   // the value it computes: the graph's label, or operator and number
  double ms = 0;
  std::string note;       // "by its definition", the library's implementation, …; may be empty
  std::string signature;  // as of the back end's KernelMeasurer; empty if it has none
  Work work;              // what it computes, reads and writes
  double start_ms = 0;    // since the start of the run
};

// What the kernels of an executable need, known before it runs.
struct MemoryUse {
  int64_t weight_bytes = 0;   // constants and packed weights, kept between runs
  int64_t planned_bytes = 0;  // the arena of all intermediate values: the peak of a run
  int64_t live_bytes = 0;  // largest sum of simultaneously live values: a lower bound of the above
  int64_t host_bytes = 0;  // of what is offloaded to the host's memory meanwhile
};

// State variables (graph/training_state.h) that stay on a device from one run to the
// next, unless the executable runs in another way meanwhile. Use a Stepper (runtime/stepper.h).
class StateKeeper {
 public:
  virtual ~StateKeeper() = default;
  // `values` in the order of the graph's inputs, those of no state variable not looked at.
  virtual absl::Status SetState(absl::Span<const Tensor> values) = 0;
  // As Executable::Run, with empty handles for new state; those of `inputs` are not looked at.
  virtual absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs) = 0;
  // In the order of the graph's inputs; empty handles for those that are no state.
  virtual absl::StatusOr<std::vector<Tensor>> State() = 0;
};

// A graph made ready to run again and again. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;

  // `inputs` in the graph's order; a wrong count or type is InvalidArgument, named. The results, in
  // the order of the graph's outputs, share no memory with the executable, nor with the inputs
  // unless state is updated in place.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;

  // The same, and replaces `timings` by one row per kernel, in order.
  virtual absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                       std::vector<KernelTiming>* timings) = 0;

  // Milliseconds that each of `runs` executions takes on a device that has a clock of its own: from
  // the inputs in the device's memory to the outputs there, without copies to or from the host.
  // Unimplemented where a run has no such copies.
  virtual absl::StatusOr<std::vector<double>> TimeRuns(absl::Span<const Tensor> inputs, int runs);

  // Where the executable can keep state on its device. nullptr: it cannot.
  virtual StateKeeper* state_keeper() { return nullptr; }

  virtual MemoryUse memory() const = 0;

  // The plan for people: kernels, layouts, buffers.
  virtual std::string Describe() const = 0;
};

// What an executable would be.
struct PlanSummary {
  int kernels = 0;
  MemoryUse memory;
  std::string text;  // as of Executable::Describe
};

class Backend {
 public:
  virtual ~Backend() = default;

  // "reference", "cpu", …
  virtual std::string name() const = 0;
  // Library versions and the device, one line.
  virtual std::string version() const = 0;
  // Unimplemented ("unsupported: OP (reason)") if the graph holds an opaque operator;
  // FailedPrecondition if a weight has no values; ResourceExhausted if memory does not suffice.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                              const CompileOptions& options) = 0;
  // What Compile would load, without its device. Weights need no values. Unimplemented also where
  // the back end makes no plans.
  virtual absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions& options);
};

// InvalidArgument unless `inputs` are what `graph` takes; for implementers of Run. `which`, if not
// empty, says which of them are looked at.
absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs,
                         const std::vector<bool>& which = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_EXECUTOR_H_
