#include "graph/onnx/quantization/float_form.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/dtype.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/quantization/product_weights.h"
#include "graph/onnx/quantization/static_form.h"

namespace lemma {
namespace {

// The operator sets that bring casts to these types, with the type as a number.
constexpr int kBf16Opset = 13, kF16Opset = 6;

void SetCastType(DType to, onnx::NodeProto* node) {
  auto* attribute = node->add_attribute();
  attribute->set_name("to");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(ToOnnxType(to));
}

absl::Status WriteRoundedWeight(const QuantizableOp& op, const ProductWeights& weights, DType type,
                                ModelEditor* editor) {
  const std::vector<double> numbers(weights.rounded.begin(), weights.rounded.end());
  LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::FromDoubles({type, weights.shape}, numbers));
  const std::string stored = editor->AddConstant(absl::StrCat(op.weight, "_", Name(type)), tensor);
  const std::string read = editor->NewName(op.weight + "_rounded");
  SetCastType(DType::kF32, editor->AddBefore(op.position, "Cast", {stored}, read));
  editor->node(op.position).set_input(op.weight_operand, read);
  editor->DropIfUnread({op.weight});
  return absl::OkStatus();
}

}  // namespace

std::string FloatProblem(const ModelIndex& index, const QuantizableOp& op,
                         const QuantizationPlan& plan) {
  const auto weights = MakeProductWeights(index, {op}, op, plan);
  if (!weights.ok()) return std::string(weights.status().message());
  const bool fits = std::all_of(weights->rounded.begin(), weights->rounded.end(),
                                [](float x) { return std::isfinite(x); });
  return fits ? "" : absl::StrCat("a weight is outside of the range of ", Name(plan.float_type));
}

absl::Status WriteFloatForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                            ModelEditor* editor, std::vector<std::string>* notes) {
  const DType type = plan.float_type;
  LEMMA_RETURN_IF_ERROR(editor->RaiseOpset(type == DType::kBF16 ? kBf16Opset : kF16Opset,
                                           absl::StrCat("values of ", Name(type)), notes));
  LEMMA_RETURN_IF_ERROR(WriteWeights(
      model, plan, [&](const QuantizableOp& op, const ProductWeights& weights) -> absl::Status {
        LEMMA_RETURN_IF_ERROR(WriteRoundedWeight(op, weights, type, editor));
        return FoldNorms(model, op, weights, editor);
      }));
  for (const std::string& value : ReadsOf(model.operators, plan.chosen)) {
    const int maker = editor->MakerOf(value);
    const std::string narrow = editor->NewName(absl::StrCat(value, "_", Name(type)));
    const std::string wide = editor->NewName(value + "_rounded");
    SetCastType(type, editor->AddAfter(maker, "Cast", {value}, narrow));
    SetCastType(DType::kF32, editor->AddAfter(maker, "Cast", {narrow}, wide));
    LetChosenRead(model, plan, value, wide, editor);
  }
  return absl::OkStatus();
}

}  // namespace lemma
