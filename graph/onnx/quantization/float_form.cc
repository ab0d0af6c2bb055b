#include "graph/onnx/quantization/float_form.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/dtype.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/functions/own_functions.h"
#include "graph/onnx/quantization/product_weights.h"
#include "graph/onnx/quantization/static_form.h"

namespace lemma {
namespace {

// The operator sets that bring casts to these types, with the type as a number.
constexpr int kBf16Opset = 13, kF16Opset = 6;

// The type that stores such numbers.
DType TypeOf(FloatFormat format) {
  return format == FloatFormat::kTf32 ? DType::kF32 : *ParseDType(Name(format));
}

int OpsetOf(FloatFormat format) {
  switch (format) {
    case FloatFormat::kBf16:
      return kBf16Opset;
    case FloatFormat::kF16:
      return kF16Opset;
    case FloatFormat::kTf32:
      return kFunctionOpset;
  }
  return kBf16Opset;
}

void SetCastType(DType to, onnx::NodeProto* node) {
  auto* attribute = node->add_attribute();
  attribute->set_name("to");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(ToOnnxType(to));
}

// `value`, rounded, in a node before or after the one at `position`.
enum class Side { kBefore, kAfter };
std::string WriteTf32(const std::string& value, int position, Side side, ModelEditor* editor) {
  const std::string rounded = editor->NewName(value + "_rounded");
  onnx::NodeProto* node = side == Side::kBefore
                              ? editor->AddBefore(position, "RoundTf32", {value}, rounded)
                              : editor->AddAfter(position, "RoundTf32", {value}, rounded);
  node->set_domain(kOwnDomain);
  return rounded;
}

absl::Status WriteRoundedWeight(const QuantizableOp& op, const ProductWeights& weights,
                                FloatFormat format, ModelEditor* editor) {
  const std::vector<double> numbers(weights.rounded.begin(), weights.rounded.end());
  const DType type = TypeOf(format);
  LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::FromDoubles({type, weights.shape}, numbers));
  const std::string stored =
      editor->AddConstant(absl::StrCat(op.weight, "_", Name(format)), tensor);
  std::string read;
  if (format == FloatFormat::kTf32) {
    read = WriteTf32(stored, op.position, Side::kBefore, editor);
  } else {
    read = editor->NewName(op.weight + "_rounded");
    SetCastType(DType::kF32, editor->AddBefore(op.position, "Cast", {stored}, read));
  }
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
  return fits ? "" : absl::StrCat("a weight is outside of the range of ", Name(plan.float_format));
}

absl::Status WriteFloatForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                            ModelEditor* editor, std::vector<std::string>* notes) {
  const FloatFormat format = plan.float_format;
  const bool tf32 = format == FloatFormat::kTf32;
  LEMMA_RETURN_IF_ERROR(
      editor->RaiseOpset(OpsetOf(format), absl::StrCat("values of ", Name(format)), notes));
  if (tf32) LEMMA_RETURN_IF_ERROR(editor->NeedFunction("RoundTf32", notes));
  LEMMA_RETURN_IF_ERROR(WriteWeights(
      model, plan, [&](const QuantizableOp& op, const ProductWeights& weights) -> absl::Status {
        LEMMA_RETURN_IF_ERROR(WriteRoundedWeight(op, weights, format, editor));
        return FoldNorms(model, op, weights, editor);
      }));
  for (const std::string& value : ReadsOf(model.operators, plan.chosen)) {
    const int maker = editor->MakerOf(value);
    std::string wide;
    if (tf32) {
      wide = WriteTf32(value, maker, Side::kAfter, editor);
    } else {
      const std::string narrow = editor->NewName(absl::StrCat(value, "_", Name(format)));
      wide = editor->NewName(value + "_rounded");
      SetCastType(TypeOf(format), editor->AddAfter(maker, "Cast", {value}, narrow));
      SetCastType(DType::kF32, editor->AddAfter(maker, "Cast", {narrow}, wide));
    }
    LetChosenRead(model, plan, value, wide, editor);
  }
  return absl::OkStatus();
}

}  // namespace lemma
