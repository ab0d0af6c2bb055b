// A training step run again and again, its state carried from one run to the next.
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

// State variables are those of StatePairs. Where the executable keeps state itself, on a device, it
// stays there until it is asked for. Not thread-safe.
class Stepper {
 public:
  // `executable` is of `graph`, which has to outlive the stepper.
  Stepper(const Graph& graph, std::unique_ptr<Executable> executable);

  // `values` in the order of the graph's inputs, those of no state variable not looked at.
  // InvalidArgument for one that is missing or of another type. The step may write over them: they
  // have to be nobody else's.
  absl::Status SetState(std::vector<Tensor> values);

  // One step; FailedPrecondition before SetState. `inputs` in the graph's order, those of state
  // variables not looked at. Gives the graph's outputs, empty handles where they are new state.
  // After an error the state is undefined.
  absl::StatusOr<std::vector<Tensor>> Step(absl::Span<const Tensor> inputs);

  // In the order of the graph's inputs; empty handles for those that are no state. Valid until the
  // next step. FailedPrecondition before SetState.
  absl::StatusOr<std::vector<Tensor>> State() const;

  const std::vector<StatePair>& pairs() const { return pairs_; }
  Executable& executable() const { return *executable_; }

 private:
  const Graph& graph_;
  const std::vector<StatePair> pairs_;
  std::unique_ptr<Executable> executable_;
  StateKeeper* const keeper_;  // nullptr: state_ has it
  std::vector<Tensor> state_;
  bool has_state_ = false;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_STEPPER_H_
