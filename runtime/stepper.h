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

// State variables are those of StatePairs (graph/training_state.h). If the executable can keep
// state on its device, the state stays there until State() is called. Not thread-safe.
class Stepper {
 public:
  // `executable` must be compiled from `graph`, which must outlive the stepper.
  Stepper(const Graph& graph, std::unique_ptr<Executable> executable);

  // `values` in the order of the graph's inputs; only those of state variables are read.
  // InvalidArgument if one is missing or has another type. A step may overwrite them, so the caller
  // must not keep other handles to these tensors.
  absl::Status SetState(std::vector<Tensor> values);

  // Runs one step; FailedPrecondition before SetState. `inputs` in the graph's order; those of
  // state variables are ignored. Returns the outputs in the graph's order, with empty tensors in
  // place of the new state. After an error the state is undefined.
  absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs);

  // The state after the last step, in the order of the graph's inputs, with empty tensors for
  // inputs that are no state. Valid until the next step. FailedPrecondition before SetState.
  absl::StatusOr<std::vector<Tensor>> State() const;

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
