#include "graph/onnx/fold.h"

#include <algorithm>

#include "kernels/evaluate/evaluate.h"

namespace lemma {

absl::StatusOr<std::vector<Tensor>> FoldNode(const Node& node, absl::Span<const Tensor> inputs) {
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return definition.status();
  auto program = CompileLoops(*definition);
  if (!program.ok()) return program.status();

  bool integral = true;
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) {
    integral &= !IsReal(input.dtype());
    views.push_back({input.raw(), input.dtype(), DenseStrides(input.shape())});
  }
  std::vector<Tensor> outputs;
  std::vector<MutableTensorView> targets;
  for (const TensorType& type : node.types()) {
    integral &= !IsReal(type.dtype);
    auto tensor = Tensor::Allocate(type);
    if (!tensor.ok()) return tensor.status();
    targets.push_back({tensor->mutable_raw(), type.dtype, DenseStrides(type.shape)});
    outputs.push_back(*std::move(tensor));
  }
  absl::Status status = absl::InvalidArgumentError("");
  if (integral) status = Run<int64_t>(*program, views, targets);
  // Some integer functions have intermediate results that are not integers: floor(sqrt(n)).
  if (absl::IsInvalidArgument(status)) status = Run<double>(*program, views, targets);
  if (!status.ok()) return status;
  return outputs;
}

bool WidensIntegers(const Node& node) {
  constexpr int64_t kFew = 64;  // so few are numbers in proofs
  const DType result = node.type(0).dtype;
  return IsFloat(result) &&
         std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value& v) {
           const int64_t elements = v.type().num_elements();
           const bool is_vector = std::any_of(v.shape().begin(), v.shape().end(),
                                              [&](int64_t size) { return size == elements; });
           return (IsInteger(v.dtype()) || IsSmallFloat(v.dtype())) &&
                  SizeOf(v.dtype()) < SizeOf(result) && elements > kFew && !is_vector;
         });
}

}  // namespace lemma
