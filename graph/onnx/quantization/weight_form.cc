#include "graph/onnx/quantization/weight_form.h"

#include <utility>

#include "base/status_macros.h"
#include "graph/onnx/quantization/product_weights.h"
#include "graph/onnx/quantization/static_form.h"

namespace lemma {
namespace {

// The weight as MatMulNBits takes it: for each channel n and block of k, the numbers q +
// 2^(bits-1), the first in the lowest bits; missing ones at the end of a channel stand for 0.
absl::StatusOr<Tensor> Packed(const QuantizedWeight& weight, int bits) {
  const auto axis = static_cast<size_t>(weight.axis);
  const int64_t columns = weight.integers.shape()[axis], depth = weight.integers.shape()[1 - axis];
  const int64_t blocks = (depth + weight.block - 1) / weight.block;
  const int64_t per_byte = 8 / bits, offset = int64_t{1} << (bits - 1);
  const Shape shape = {columns, blocks, weight.block / per_byte};
  std::vector<int64_t> bytes;
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < blocks * weight.block; k += per_byte) {
      int64_t byte = 0;
      for (int64_t i = 0; i < per_byte; ++i) {
        const int64_t at = axis == 0 ? n * depth + k + i : (k + i) * columns + n;
        const int64_t q = k + i < depth ? weight.integers.AtInt(at) : 0;
        byte |= (q + offset) << (i * bits);
      }
      bytes.push_back(byte);
    }
  }
  return Tensor::FromInts({DType::kU8, shape}, bytes);
}

void SetInt(const char* name, int64_t value, onnx::NodeProto* node) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

absl::Status WriteBlocks(const QuantizableOp& op, const ProductWeights& weights, int bits,
                         ModelEditor* editor) {
  const QuantizedWeight& weight = weights.quantized;
  LEMMA_ASSIGN_OR_RETURN(const Tensor packed, Packed(weight, bits));
  const std::vector<double> numbers(weight.scales.begin(), weight.scales.end());
  LEMMA_ASSIGN_OR_RETURN(
      const Tensor scales,
      Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(numbers.size())}}, numbers));
  onnx::NodeProto& node = editor->node(op.position);
  const auto axis = static_cast<size_t>(weight.axis);
  node.clear_attribute();
  node.set_op_type("MatMulNBits");
  node.set_domain("com.microsoft");
  const std::string x = node.input(0);
  node.clear_input();
  node.add_input(x);
  node.add_input(editor->AddConstant(op.weight + "_quantized", packed));
  node.add_input(editor->AddConstant(op.weight + "_scale", scales));
  if (!op.bias.empty()) {
    for (const std::string& input : {std::string(), std::string(), op.bias}) node.add_input(input);
  }
  SetInt("K", weights.shape[1 - axis], &node);
  SetInt("N", weights.shape[axis], &node);
  SetInt("bits", bits, &node);
  SetInt("block_size", weight.block, &node);
  editor->NeedDomain("com.microsoft");
  editor->DropIfUnread({op.weight});
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteWeightForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes) {
  if (plan.weights.block > 0 && !plan.weights.symmetric) {
    return absl::UnimplementedError("weights in blocks are written without zero points");
  }
  if (plan.weights.block == 0) {
    LEMMA_RETURN_IF_ERROR(RaiseOpsetFor(plan, editor, notes));
  }
  return WriteWeights(model, plan,
                      [&](const QuantizableOp& op, const ProductWeights& weights) -> absl::Status {
                        if (plan.weights.block > 0)
                          return WriteBlocks(op, weights, plan.weights.bits, editor);
                        LEMMA_RETURN_IF_ERROR(WriteQuantizedWeight(op, weights, editor));
                        return FoldNorms(model, op, weights, editor);
                      });
}

}  // namespace lemma
