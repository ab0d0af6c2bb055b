#include "graph/onnx/fold.h"

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
    integral &= !IsFloat(input.dtype());
    views.push_back({input.raw(), input.dtype(), DenseStrides(input.shape())});
  }
  std::vector<Tensor> outputs;
  std::vector<MutableTensorView> targets;
  for (const TensorType& type : node.types()) {
    integral &= !IsFloat(type.dtype);
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

}  // namespace lemma
