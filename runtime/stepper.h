// Runs a training step repeatedly and passes its state from one run to the next.
#ifndef LEMMA_RUNTIME_STEPPER_H_
#define LEMMA_RUNTIME_STEPPER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/executor.h"
#include "runtime/plan/schedule.h"

namespace lemma {

// The state variables are those that StatePairs finds (graph/training_state.h). If the executable
// can keep state on its device, the state stays on the device, and only State() copies it to the
// host. Not thread-safe.
class Stepper {
 public:
  // `executable` must be compiled from `graph`, which must outlive the stepper.
  Stepper(const Graph& graph, std::unique_ptr<Executable> executable);

  // `values` are in the order of the graph's inputs; only the values of state variables are read.
  // InvalidArgument if the number of values is wrong, or if the value of a state variable is
  // missing or has another type than the input. A step may overwrite the tensors, so the caller
  // must not keep other handles to them.
  absl::Status SetState(std::vector<Tensor> values);

  // Runs one step; FailedPrecondition before SetState. `inputs` are in the graph's order; the
  // entries of state variables are ignored. Returns the outputs in the graph's order, with empty
  // handles (default Tensor objects) in place of the new state. After an error the state is
  // undefined.
  absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs);

  // The state after the last step, in the order of the graph's inputs, with empty handles for
  // inputs that are no state. The tensors are valid until the next step. FailedPrecondition before
  // SetState.
  absl::StatusOr<std::vector<Tensor>> State() const;

  // The state variables, as StatePairs returns them.
  const std::vector<StatePair>& pairs() const { return pairs_; }
  Executable& executable() const { return *executable_; }

 private:
  const Graph& graph_;
  const std::vector<StatePair> pairs_;
  std::unique_ptr<Executable> executable_;
  StateKeeper* const keeper_;  // nullptr: the state is in state_
  std::vector<Tensor> state_;
  bool has_state_ = false;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STEPPER_H_
