#include "api/optimization/hints.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/execution/running_sizes.h"
#include "api/models/option_error.h"
#include "api/models/sizes.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {

absl::StatusOr<Hints> HintsFor(const Model& model, const HintOptions& options) {
  const Graph& graph = model.graph;
  Hints hints;
  if (!IsSymbolic(graph)) {
    if (!options.given.empty()) return OptionError("option hint: every size is a number");
    return hints;
  }
  if (!options.inputs.files.empty()) {
    auto tensors = GivenInputs(model, options.inputs.files);
    if (!tensors.ok()) return tensors.status();
    std::vector<TensorType> types;
    for (const Tensor& tensor : *tensors) types.push_back(tensor.type());
    auto sizes = BindDims(graph, types);
    if (sizes.ok()) sizes = CompleteSizes(graph, *sizes);
    if (!sizes.ok()) return sizes.status();
    hints.sizes.push_back({*std::move(sizes), 1});
  }
  for (const DimValues& given : options.given) {
    auto sizes = CompleteSizes(graph, given);
    if (!sizes.ok()) return OptionError(absl::StrCat("option hint: ", sizes.status().message()));
    hints.sizes.push_back({*std::move(sizes), 1});
  }
  if (!hints.sizes.empty()) return hints;
  hints.are_usual = true;
  const bool finds = options.execute || UnknownOperators(graph).empty();
  hints.sizes.push_back(
      {finds ? RunningSizes(model, options.inputs, options.execution) : DefaultSizes(graph), 1});
  return hints;
}

DimValues LeastSizes(const std::vector<DimValues>& given) {
  DimValues least;
  for (const DimValues& sizes : given) {
    for (const auto& [name, size] : sizes) {
      const auto known = least.emplace(name, size).first;
      known->second = std::min(known->second, size);
    }
  }
  return least;
}

absl::StatusOr<std::vector<Tensor>> InputsFor(const Model& model,
                                              const std::vector<optimizer::SizeHint>& hints,
                                              const InputOptions& options) {
  auto sized = hints.empty() ? model : AtSizes(model, hints.front().sizes);
  if (!sized.ok()) return Prefixed(model.path, sized.status());
  auto inputs = InputsOf(*sized, options);
  if (absl::IsUnimplemented(inputs.status())) return std::vector<Tensor>();
  if (!inputs.ok()) return Prefixed(model.path, inputs.status());
  return inputs;
}

}  // namespace lemma::api
