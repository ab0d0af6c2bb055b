#include "graph/onnx/quantization/dynamic_form.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/quantization/product_weights.h"
#include "graph/onnx/quantization/static_form.h"

namespace lemma {
namespace {

constexpr int kDynamicOpset = 11;  // has DynamicQuantizeLinear

// The matrix with its axes exchanged.
absl::StatusOr<Tensor> Transposed(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  std::vector<int64_t> values(static_cast<size_t>(matrix.size()));
  for (int64_t i = 0; i < matrix.size(); ++i) {
    values[static_cast<size_t>(i % columns * rows + i / columns)] = matrix.AtInt(i);
  }
  return Tensor::FromInts({matrix.dtype(), {columns, rows}}, values);
}

class Writer {
 public:
  Writer(const QuantizableModel::Impl& model, ModelEditor* editor)
      : model_(model), editor_(*editor) {}

  absl::Status Write(const QuantizableOp& op, const ProductWeights& weights) {
    RemoveNorms(model_, op, &editor_);
    const onnx::NodeProto node = editor_.node(op.position);
    const Quantized& x = QuantizedValue(op.reads[0]);
    const bool is_conv = op.type == "Conv";
    Tensor integers = weights.quantized.integers;
    if (op.type == "Gemm" && op.channel_axis == 0) {
      LEMMA_ASSIGN_OR_RETURN(integers, Transposed(integers));
    }
    const std::string w = editor_.AddConstant(op.weight + "_quantized", integers);
    std::vector<std::string> operands = {x.integers, w, x.zero};
    if (weights.quantized.integers.dtype() == DType::kU8) {
      LEMMA_ASSIGN_OR_RETURN(const Tensor zero,
                             Tensor::FromInts({DType::kU8, {}}, weights.quantized.zeros));
      operands.push_back(editor_.AddConstant(op.weight + "_zero_point", zero));
    }
    const std::string sum = Name(op, "sum");
    onnx::NodeProto* product =
        editor_.AddBefore(op.position, is_conv ? "ConvInteger" : "MatMulInteger", operands, sum);
    if (is_conv) *product->mutable_attribute() = node.attribute();
    const std::string floats = Name(op, "sum_float"), factor = Name(op, "factor");
    auto* to = editor_.AddBefore(op.position, "Cast", {sum}, floats)->add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(onnx::TensorProto::FLOAT);
    LEMMA_ASSIGN_OR_RETURN(
        const std::string scale,
        Channels(op, "scale", {weights.quantized.scales.begin(), weights.quantized.scales.end()},
                 weights));
    editor_.AddBefore(op.position, "Mul", {x.scale, scale}, factor);
    const std::string result = node.output(0);
    const std::string scaled = weights.bias.empty() ? result : Name(op, "scaled");
    editor_.AddBefore(op.position, "Mul", {floats, factor}, scaled);
    if (!weights.bias.empty()) {
      LEMMA_ASSIGN_OR_RETURN(const std::string bias, Channels(op, "bias", weights.bias, weights));
      editor_.AddBefore(op.position, "Add", {scaled, bias}, result);
    }
    editor_.Remove(op.position);
    editor_.DropIfUnread({op.weight, op.bias});
    return absl::OkStatus();
  }

 private:
  struct Quantized {
    std::string integers, scale, zero;
  };

  std::string Name(const QuantizableOp& op, const char* what) {
    return editor_.NewName(absl::StrCat(op.result, "_", what));
  }

  // The value's integers, which several products may read.
  const Quantized& QuantizedValue(const std::string& value) {
    auto [it, is_new] = values_.try_emplace(value);
    if (!is_new) return it->second;
    it->second = {editor_.NewName(value + "_quantized"), editor_.NewName(value + "_scale"),
                  editor_.NewName(value + "_zero_point")};
    onnx::NodeProto* node = editor_.AddAfter(editor_.MakerOf(value), "DynamicQuantizeLinear",
                                             {value}, it->second.integers);
    node->add_output(it->second.scale);
    node->add_output(it->second.zero);
    return it->second;
  }

  // A constant with a number for each channel, or one, that broadcasts over the result.
  absl::StatusOr<std::string> Channels(const QuantizableOp& op, const char* what,
                                       const std::vector<double>& numbers,
                                       const ProductWeights& weights) {
    Shape shape;
    if (numbers.size() > 1 || what == std::string("bias")) {
      shape.push_back(static_cast<int64_t>(numbers.size()));
    }
    if (op.type == "Conv" && !shape.empty()) shape.resize(weights.shape.size() - 1, 1);
    LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::FromDoubles({DType::kF32, shape}, numbers));
    return editor_.AddConstant(absl::StrCat(op.weight, "_", what), tensor);
  }

  const QuantizableModel::Impl& model_;
  ModelEditor& editor_;
  std::map<std::string, Quantized> values_;
};

}  // namespace

absl::Status WriteDynamicForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                              ModelEditor* editor, std::vector<std::string>* notes) {
  LEMMA_RETURN_IF_ERROR(editor->RaiseOpset(kDynamicOpset, "dynamic ranges", notes));
  Writer writer(model, editor);
  return WriteWeights(model, plan, [&](const QuantizableOp& op, const ProductWeights& weights) {
    return writer.Write(op, weights);
  });
}

}  // namespace lemma
