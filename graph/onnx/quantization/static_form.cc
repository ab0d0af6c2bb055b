#include "graph/onnx/quantization/static_form.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/quantization/corrections/bias_shift.h"
#include "graph/onnx/quantization/product_weights.h"

namespace lemma {
namespace {

absl::StatusOr<Tensor> Scales(const std::vector<float>& scales, bool is_vector) {
  const Shape shape = is_vector ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
  return Tensor::FromDoubles({DType::kF32, shape},
                             std::vector<double>(scales.begin(), scales.end()));
}

// The operand `input` of the node becomes a DequantizeLinear of the constants.
absl::Status Dequantized(int position, int input, const std::string& base, const Tensor& integers,
                         const std::vector<float>& scales, const std::vector<int64_t>& zeros,
                         int axis, ModelEditor* editor) {
  LEMMA_ASSIGN_OR_RETURN(const Tensor scale, Scales(scales, axis >= 0));
  LEMMA_ASSIGN_OR_RETURN(const Tensor zero,
                         Tensor::FromInts({integers.dtype(), scale.shape()}, zeros));
  const std::vector<std::string> operands = {
      editor->AddConstant(base + "_quantized", integers),
      editor->AddConstant(base + "_scale", scale),
      editor->AddConstant(base + "_zero_point", zero),
  };
  const std::string result = editor->NewName(base + "_dequantized");
  onnx::NodeProto* node = editor->AddBefore(position, "DequantizeLinear", operands, result);
  if (axis >= 0) {
    auto* attribute = node->add_attribute();
    attribute->set_name("axis");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(axis);
  }
  while (editor->node(position).input_size() <= input) editor->node(position).add_input("");
  editor->node(position).set_input(input, result);
  return absl::OkStatus();
}

class Pairs {
 public:
  Pairs(const QuantizableModel::Impl& model, const QuantizationPlan& plan, ModelEditor* editor)
      : model_(model),
        plan_(plan),
        editor_(*editor),
        written_(ResultsOf(model.operators, plan.chosen)) {}

  absl::Status Add(const std::string& value) {
    const QuantParams& params = ParamsOf(model_.operators, plan_, value);
    LEMMA_ASSIGN_OR_RETURN(const Tensor zero, Tensor::FromInts({params.type, {}}, {params.zero}));
    const std::string scale =
        editor_.AddConstant(value + "_scale", Tensor::ScalarF32(params.scale));
    const std::string zero_point = editor_.AddConstant(value + "_zero_point", zero);
    const int maker = editor_.MakerOf(value);
    const bool is_written = written_.count(value) > 0;
    std::string from = value, to = value;
    if (is_written) {
      from = editor_.NewName(value + "_float");
      editor_.RenameOutput(maker, value, from);
    } else {
      to = editor_.NewName(value + "_dequantized");
    }
    const std::string integers = editor_.NewName(value + "_quantized");
    editor_.AddAfter(maker, "QuantizeLinear", {from, scale, zero_point}, integers);
    editor_.AddAfter(maker, "DequantizeLinear", {integers, scale, zero_point}, to);
    if (!is_written) LetChosenRead(model_, plan_, value, to, &editor_);
    return absl::OkStatus();
  }

 private:
  const QuantizableModel::Impl& model_;
  const QuantizationPlan& plan_;
  ModelEditor& editor_;
  const std::set<std::string> written_;
};

}  // namespace

void LetChosenRead(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                   const std::string& value, const std::string& to, ModelEditor* editor) {
  for (size_t i = 0; i < model.operators.size(); ++i) {
    if (!plan.chosen[i]) continue;
    const QuantizableOp& op = model.operators[i];
    for (int k = 0; k < editor->node(op.position).input_size(); ++k) {
      const bool selects = op.role == QuantizedRole::kSelection;  // its operand 0 alone
      if (selects && k > 0) break;
      std::string* input = editor->node(op.position).mutable_input(k);
      if (*input == value) *input = to;
    }
  }
}

void RemoveNorms(const QuantizableModel::Impl& model, const QuantizableOp& op,
                 ModelEditor* editor) {
  for (const int position : op.followers) {
    const onnx::NodeProto& norm = model.proto.graph().node(position);
    if (norm.op_type() != "BatchNormalization") continue;
    editor->Remove(position);
    editor->RenameOutput(op.position, norm.input(0), norm.output(0));
    editor->DropIfUnread({norm.input().begin() + 1, norm.input().end()});
  }
}

absl::Status FoldNorms(const QuantizableModel::Impl& model, const QuantizableOp& op,
                       const ProductWeights& weights, ModelEditor* editor) {
  const size_t removed = editor->removed();
  RemoveNorms(model, op, editor);
  return editor->removed() > removed ? WriteBias(op, weights, editor) : absl::OkStatus();
}

absl::Status WriteWeights(
    const QuantizableModel::Impl& model, const QuantizationPlan& plan,
    absl::FunctionRef<absl::Status(const QuantizableOp&, const ProductWeights&)> write) {
  for (size_t i = 0; i < model.operators.size(); ++i) {
    const QuantizableOp& op = model.operators[i];
    if (!plan.chosen[i] || op.weight.empty()) continue;
    LEMMA_ASSIGN_OR_RETURN(const ProductWeights weights,
                           MakeProductWeights(*model.index, model.operators, op, plan));
    LEMMA_RETURN_IF_ERROR(write(op, weights));
  }
  return absl::OkStatus();
}

absl::Status WriteQuantizedWeight(const QuantizableOp& op, const ProductWeights& weights,
                                  ModelEditor* editor) {
  editor->DropIfUnread({op.weight, op.bias, op.added_bias});
  return Dequantized(op.position, op.weight_operand, op.weight, weights.quantized.integers,
                     weights.quantized.scales, weights.quantized.zeros, weights.quantized.axis,
                     editor);
}

absl::Status WriteBias(const QuantizableOp& op, const ProductWeights& weights,
                       ModelEditor* editor) {
  if (weights.bias.empty()) return absl::OkStatus();
  const bool is_added = !op.added_bias.empty();  // by an Add
  const int position = is_added ? op.followers[0] : op.position;
  const int operand = is_added ? op.added_operand : 2;
  const std::string base = is_added          ? op.added_bias
                           : op.bias.empty() ? op.result + "_bias"
                                             : op.bias;
  const Shape shape = {static_cast<int64_t>(weights.bias.size())};
  if (weights.bias_integers.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor bias,
                           Tensor::FromDoubles({DType::kF32, shape}, weights.bias));
    onnx::NodeProto& node = editor->node(position);
    while (node.input_size() <= operand) node.add_input("");
    node.set_input(operand, editor->AddConstant(base + "_folded", bias));
    return absl::OkStatus();
  }
  LEMMA_ASSIGN_OR_RETURN(
      const Tensor integers,
      Tensor::FromInts({DType::kI32, shape}, std::vector<int64_t>(weights.bias_integers.begin(),
                                                                  weights.bias_integers.end())));
  const bool is_vector = weights.quantized.axis >= 0;
  const std::vector<float> scales(weights.bias_scales.begin(), weights.bias_scales.end());
  return Dequantized(position, operand, base, integers, scales,
                     std::vector<int64_t>(scales.size(), 0), is_vector ? 0 : -1, editor);
}

absl::Status RaiseOpsetFor(const QuantizationPlan& plan, ModelEditor* editor,
                           std::vector<std::string>* notes) {
  const bool per_channel = plan.weights.per_channel;
  return editor->RaiseOpset(per_channel ? 13 : 10,
                            per_channel ? "scales per channel" : "quantized values", notes);
}

absl::Status WriteStaticForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes) {
  LEMMA_RETURN_IF_ERROR(RaiseOpsetFor(plan, editor, notes));
  LEMMA_RETURN_IF_ERROR(WriteWeights(
      model, plan, [&](const QuantizableOp& op, const ProductWeights& weights) -> absl::Status {
        LEMMA_RETURN_IF_ERROR(WriteQuantizedWeight(op, weights, editor));
        LEMMA_RETURN_IF_ERROR(WriteBias(op, weights, editor));
        RemoveNorms(model, op, editor);
        return WriteShiftOfMatMul(model, plan, op, weights, editor);
      }));
  std::set<std::string> values = ResultsOf(model.operators, plan.chosen);
  values.merge(ReadsOf(model.operators, plan.chosen));
  Pairs pairs(model, plan, editor);
  for (const std::string& value : values) LEMMA_RETURN_IF_ERROR(pairs.Add(value));
  return absl::OkStatus();
}

}  // namespace lemma
