#include "verifier/certificate/fold.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma::certificate {

absl::StatusOr<Tensor> Folder::ValueOf(const Value& value) {
  std::vector<const Node*> pending = {&value.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    if (!node->is_op()) {
      return absl::FailedPreconditionError("it depends on more than weights and constants");
    }
    const size_t before = pending.size();
    for (const Value& v : node->inputs()) {
      const bool known = v.node().has_payload() || wide_.contains({&v.node(), 0});
      if (!known) pending.push_back(&v.node());
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    if (!wide_.contains({node, 0})) LEMMA_RETURN_IF_ERROR(Compute(*node));
  }
  const Tensor& wide = wide_.at({&value.node(), value.output()});
  if (wide.type() == value.type()) return wide;
  return Tensor::FromDoubles(value.type(), wide.data<double>());
}

absl::Status Folder::Compute(const Node& node) {
  auto definition = DefinitionOf(node);
  if (!definition.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(node.op().name, " has no definition"));
  }
  LEMMA_ASSIGN_OR_RETURN(const LoopProgram program, CompileLoops(*definition));
  bool integral = true;
  std::vector<TensorView> in;
  for (const Value& v : node.inputs()) {
    const Tensor& tensor =
        v.node().is_op() ? wide_.at({&v.node(), v.output()}) : v.node().payload();
    integral &= !IsReal(tensor.dtype());
    in.push_back({tensor.raw(), tensor.dtype(), DenseStrides(tensor.shape())});
  }
  std::vector<Tensor> results;
  std::vector<MutableTensorView> out;
  for (TensorType type : node.types()) {
    integral &= !IsReal(type.dtype);
    if (IsFloat(type.dtype)) type.dtype = DType::kF64;
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type));
    out.push_back({tensor.mutable_raw(), type.dtype, DenseStrides(type.shape)});
    results.push_back(std::move(tensor));
  }
  RunOptions options;
  options.threads = threads_;
  absl::Status status = absl::InvalidArgumentError("not integral");
  if (integral) status = Run<int64_t>(program, in, out, options);
  // Integers may pass through real functions.
  if (absl::IsInvalidArgument(status)) status = Run<double>(program, in, out, options);
  LEMMA_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < results.size(); ++i) {
    wide_[{&node, static_cast<int>(i)}] = std::move(results[i]);
  }
  return absl::OkStatus();
}

}  // namespace lemma::certificate
