// Executes graphs, through one interface for all back ends: runtime/reference/reference.h,
// runtime/cpu/cpu_backend.h, runtime/cuda/cuda_backend.h and runtime/onnxruntime/ort_backend.h.
// MakeBackend (api/execution/backends.h) chooses one by name.
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
#include "runtime/run_findings.h"

namespace lemma {

struct CompileOptions {
  // Threads within a kernel. More than one thread helps only on an otherwise idle machine: the
  // threads wait for each other, so a thread that loses its processor delays all threads.
  int threads = 1;
  // Whether a run may write new values of state variables (graph/training_state.h) over the old
  // values. The result then shares the input's memory, which must belong to the caller alone. If
  // the old value is still read afterwards, the new value gets its own memory.
  bool update_state_in_place = false;
};

// One kernel of a run, or several kernels that the back end times together, such as a step of a
// plan or a whole model. A kernel may compute several fused operators.
struct KernelTiming {
  std::string kernel;  // the back end's name for the kernel: "conv+relu", "element-wise", …
  std::string label;   // the label of the kernel's result, or another name, such as "#7"
  double ms = 0;
  std::string note;       // "by its definition", oneDNN's implementation, …; may be empty
  std::string signature;  // as in the back end's KernelMeasurer; may be empty
  Work work;              // the operations and bytes of the kernel
  double start_ms = 0;    // since the start of the run
};

// Memory that the kernels of an executable need.
struct MemoryUse {
  int64_t weight_bytes = 0;  // constants and packed weights, kept between runs
  // The size of the arena: a run's peak. The arena holds intermediate values and scratch memory; on
  // a GPU, inputs and outputs too.
  int64_t planned_bytes = 0;
  int64_t live_bytes = 0;  // largest sum of simultaneously live values, <= planned_bytes
  int64_t host_bytes = 0;  // values offloaded to the host's memory during a run
};

// Keeps state variables (graph/training_state.h) on a device between runs. After SetState, run the
// executable by Step only: Executable::Run would overwrite the state. Callers should use a Stepper
// (runtime/stepper.h) instead.
class StateKeeper {
 public:
  virtual ~StateKeeper() = default;
  // `values` are in the order of the graph's inputs. Only the values of state variables are read.
  virtual absl::Status SetState(absl::Span<const Tensor> values) = 0;
  // As Executable::Run, but reads the state from the device. The entries of state variables in
  // `inputs` are ignored. In the result, empty handles (default Tensor objects) stand in place of
  // the new state.
  virtual absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs) = 0;
  // The state, in the order of the graph's inputs; empty handles for inputs that are no state.
  virtual absl::StatusOr<std::vector<Tensor>> State() = 0;
};

// A graph prepared for repeated runs. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;

  // `inputs` are in the graph's order. A wrong number of inputs gives InvalidArgument with the
  // graph's name; a wrong type gives InvalidArgument with the input's name; an index outside of the
  // indexed tensor (as for gather) gives an error with the operator's name. The results are in the
  // order of the graph's outputs. They share no memory with the executable, and none with the
  // inputs unless state is updated in place.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;

  // As Run; also replaces the content of *timings by the timings of the kernels, in execution
  // order.
  virtual absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                                       std::vector<KernelTiming>* timings) = 0;

  // Runs the executable `runs` times on a device that has its own memory. Returns the milliseconds
  // of each run, by the device's clock. Copies between host and device are not timed. Unimplemented
  // if the executable runs on the host.
  virtual absl::StatusOr<std::vector<double>> TimeRuns(absl::Span<const Tensor> inputs, int runs);

  // The object that keeps state on the device, owned by the executable; nullptr if there is none.
  virtual StateKeeper* state_keeper() { return nullptr; }

  // The memory that runs need; all 0 if the back end does not know. If the graph has opaque
  // operators, only the memory of the parts that are compiled so far (runtime/staged/staged.h).
  virtual MemoryUse memory() const = 0;

  // The findings of the last run (runtime/run_findings.h). The next run changes them.
  virtual const RunFindings& findings() const;

  // The plan as text for people: kernels, layouts, buffers.
  virtual std::string Describe() const = 0;
};

// Summary of the executable that Compile would make.
struct PlanSummary {
  int kernels = 0;
  MemoryUse memory;
  std::string text;  // as in Executable::Describe
};

class Backend {
 public:
  virtual ~Backend() = default;

  // "reference", "cpu", …
  virtual std::string name() const = 0;
  // Library versions and the device, in one line.
  virtual std::string version() const = 0;
  // Unimplemented ("unsupported: OP (reason)") if the graph contains an opaque operator that the
  // back end cannot import at run time (runtime/staged/staged.h); FailedPrecondition if a weight
  // has no values; ResourceExhausted if there is too little memory. `graph` need not outlive the
  // executable.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph,
                                                              const CompileOptions& options) = 0;
  // A summary of the executable that Compile would make. Needs neither the device nor the values of
  // weights. Unimplemented if the graph contains an opaque operator, even one that Compile accepts,
  // or if the back end makes no plans.
  virtual absl::StatusOr<PlanSummary> Plan(const Graph& graph, const CompileOptions& options);
};

// For implementers of Run: InvalidArgument unless `inputs` fit the inputs of `graph`. `which`, if
// not empty, selects the inputs to check.
absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs,
                         const std::vector<bool>& which = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_EXECUTOR_H_
