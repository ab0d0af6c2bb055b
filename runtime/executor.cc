#include "runtime/executor.h"

#include "absl/strings/str_cat.h"

namespace lemma {

absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs,
                         const std::vector<bool>& which) {
  if (inputs.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat(graph.name(), ": takes ", graph.inputs().size(),
                                                   " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!which.empty() && !which[i]) continue;
    const TensorType& wanted = graph.inputs()[i].type();
    if (inputs[i].empty_handle() || inputs[i].type() != wanted) {
      return absl::InvalidArgumentError(absl::StrCat(
          graph.name(), ": input ", graph.input_names()[i], " is ", wanted.ToString(), ", got ",
          inputs[i].empty_handle() ? "nothing" : inputs[i].type().ToString()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Executable::TimeRuns(absl::Span<const Tensor>, int) {
  return absl::UnimplementedError("runs on the host: there is no device with a clock of its own");
}

const RunFindings& Executable::findings() const {
  static const RunFindings* const none = new RunFindings();
  return *none;
}

absl::StatusOr<PlanSummary> Backend::Plan(const Graph&, const CompileOptions&) {
  return absl::UnimplementedError(absl::StrCat("the ", name(), " back end makes no plans"));
}

}  // namespace lemma
