#include "runtime/stepper.h"

#include <utility>

namespace lemma {

Stepper::Stepper(const Graph& graph, std::unique_ptr<Executable> executable)
    : graph_(graph),
      pairs_(StatePairs(graph)),
      executable_(std::move(executable)),
      keeper_(executable_->state_keeper()) {}

absl::Status Stepper::SetState(std::vector<Tensor> values) {
  std::vector<bool> is_state(graph_.inputs().size(), false);
  for (const StatePair& pair : pairs_) is_state[pair.input] = true;
  if (absl::Status s = CheckInputs(graph_, values, is_state); !s.ok()) return s;
  if (keeper_ != nullptr) {
    const absl::Status s = keeper_->SetState(values);
    has_state_ = s.ok();
    return s;
  }
  state_.assign(values.size(), Tensor());
  for (const StatePair& pair : pairs_) state_[pair.input] = std::move(values[pair.input]);
  has_state_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Stepper::Step(absl::Span<const Tensor> inputs) {
  if (!has_state_) return absl::FailedPreconditionError("no state is set");
  if (keeper_ != nullptr) return keeper_->Step(inputs);
  if (inputs.size() != state_.size()) return CheckInputs(graph_, inputs);
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  for (const StatePair& pair : pairs_) all[pair.input] = state_[pair.input];
  auto outputs = executable_->Run(all);
  if (!outputs.ok()) return outputs;
  for (const StatePair& pair : pairs_) {
    state_[pair.input] = std::move((*outputs)[pair.output]);
    (*outputs)[pair.output] = Tensor();
  }
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> Stepper::State() const {
  if (!has_state_) return absl::FailedPreconditionError("no state is set");
  if (keeper_ != nullptr) return keeper_->State();
  return state_;
}

}  // namespace lemma
