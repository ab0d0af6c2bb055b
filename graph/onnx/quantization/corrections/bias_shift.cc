#include "graph/onnx/quantization/corrections/bias_shift.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/quantization/corrections/channel_links.h"

namespace lemma {

std::string QuantizableModel::BiasedValue(int number) const {
  const QuantizableOp& op = impl_->operators[static_cast<size_t>(number)];
  if (op.role != QuantizedRole::kProduct || op.weight_operand != 1 || op.channel_axis < 0) {
    return "";
  }
  const onnx::NodeProto& node = impl_->proto.graph().node(op.position);
  // A new bias would be multiplied by beta.
  if (op.type == "Gemm" && op.bias.empty() && FloatAttribute(node, "beta", 1) != 1) return "";
  std::string value = node.output(0);
  for (const int follower : op.followers) {
    const onnx::NodeProto& norm = impl_->proto.graph().node(follower);
    if (norm.op_type() == "BatchNormalization") value = norm.output(0);
  }
  return value;
}

absl::Status WriteShiftOfMatMul(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                                const QuantizableOp& op, const ProductWeights& weights,
                                ModelEditor* editor) {
  const auto found = plan.bias_shifts.find(op.result);
  const bool has_bias = op.type != "MatMul" || !weights.bias.empty();
  if (has_bias || found == plan.bias_shifts.end()) return absl::OkStatus();
  const std::vector<double>& shift = found->second;
  const auto channels = static_cast<int64_t>(shift.size());
  const std::string value = op.inner[0];
  const int reader = model.index->OnlyReaderOf(value);
  if (reader >= 0) {
    if (const auto bias = VectorOperand(*model.index, "Add", reader, channels)) {
      const std::string old = model.proto.graph().node(reader).input(bias->operand);
      LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, model.index->Constant(old));
      std::vector<double> numbers = tensor.ToDoubles();
      for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] += shift[static_cast<size_t>(bias->channels.Of(static_cast<int64_t>(i)))];
      }
      LEMMA_ASSIGN_OR_RETURN(const Tensor sum, Tensor::FromDoubles(tensor.type(), numbers));
      editor->node(reader).set_input(bias->operand, editor->AddConstant(old + "_corrected", sum));
      editor->DropIfUnread({old});
      return absl::OkStatus();
    }
  }
  LEMMA_ASSIGN_OR_RETURN(const Tensor bias, Tensor::FromDoubles({DType::kF32, {channels}}, shift));
  const std::string from = editor->NewName(value + "_uncorrected");
  editor->RenameOutput(op.position, value, from);
  editor->AddAfter(op.position, "Add", {from, editor->AddConstant(value + "_correction", bias)},
                   value);
  return absl::OkStatus();
}

}  // namespace lemma
