#include "api/optimization/headroom.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lemma::api {
namespace {

bool HasF16(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) {
    return std::any_of(node->types().begin(), node->types().end(),
                       [](const TensorType& type) { return type.dtype == DType::kF16; });
  });
}

bool AreFinite(absl::Span<const Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    for (int64_t i = 0; IsFloat(tensor.dtype()) && i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.AtDouble(i))) return false;
    }
    return true;
  });
}

// The floats among the inputs times 2^exponent.
absl::StatusOr<std::vector<Tensor>> Scaled(absl::Span<const Tensor> inputs, int exponent) {
  std::vector<Tensor> scaled;
  for (const Tensor& input : inputs) {
    if (!IsFloat(input.dtype())) {
      scaled.push_back(input);
      continue;
    }
    std::vector<double> values = input.ToDoubles();
    for (double& value : values) value = std::ldexp(value, exponent);
    auto tensor = Tensor::FromDoubles(input.type(), values);
    if (!tensor.ok()) return tensor.status();
    scaled.push_back(*std::move(tensor));
  }
  return scaled;
}

// Whether the inputs and outputs are finite; false if the inputs cannot be taken.
absl::StatusOr<bool> StaysFinite(Executable* executable, absl::Span<const Tensor> inputs,
                                 int exponent) {
  auto scaled = Scaled(inputs, exponent);
  if (!scaled.ok()) return scaled.status();
  if (!AreFinite(*scaled)) return false;
  auto outputs = executable->Run(*scaled);
  return outputs.ok() && AreFinite(*outputs);
}

}  // namespace

absl::StatusOr<bool> OverflowsEarlier(const Graph& input, Executable* before, Executable* after,
                                      absl::Span<const Tensor> inputs) {
  if (!HasF16(input)) return false;
  int finite = 0, infinite = 16;
  while (infinite - finite > 1) {
    const int middle = (finite + infinite) / 2;
    auto stays = StaysFinite(before, inputs, middle);
    if (!stays.ok()) return stays.status();
    (*stays ? finite : infinite) = middle;
  }
  if (finite < 2) return false;
  auto stays = StaysFinite(after, inputs, finite - 1);
  if (!stays.ok()) return stays.status();
  return !*stays;
}

}  // namespace lemma::api
