#include "graph/onnx/quantization/rewrite.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/quantization/dynamic_form.h"
#include "graph/onnx/quantization/float_form.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/static_form.h"
#include "graph/onnx/quantization/weight_form.h"

namespace lemma {

std::set<std::string> ResultsOf(const std::vector<QuantizableOp>& ops,
                                const std::vector<bool>& chosen) {
  std::set<std::string> results;
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool stays_float = ops[i].type == "Gemm" || ops[i].type == "MatMul";
    if (chosen[i] && !stays_float) results.insert(ops[i].result);
  }
  return results;
}

std::set<std::string> ReadsOf(const std::vector<QuantizableOp>& ops,
                              const std::vector<bool>& chosen) {
  std::set<std::string> reads;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (chosen[i]) reads.insert(ops[i].reads.begin(), ops[i].reads.end());
  }
  return reads;
}

std::string QuantizableModel::ProblemOf(int position, const QuantizationPlan& plan) const {
  const QuantizableOp& op = impl_->operators[static_cast<size_t>(position)];
  if (plan.form == QuantizationForm::kStatic) return "";
  if (op.role != QuantizedRole::kProduct) return "this form is of products alone";
  if (plan.form == QuantizationForm::kFloats) return FloatProblem(*impl_->index, op, plan);
  if (op.weight.empty()) return "this form needs a constant weight";
  if (op.weight_operand != 1) return "its weight is the left operand";
  const bool is_matrix = impl_->index->ConstantShape(op.weight).size() == 2;
  if (plan.form == QuantizationForm::kDynamic) {
    return op.type != "Conv" && !is_matrix ? "its weight is not a matrix" : "";
  }
  return plan.weights.block > 0 && !is_matrix ? "blocks are of matrices alone" : "";
}

absl::StatusOr<ImportedModel> ImportProto(onnx::ModelProto* model, const std::string& path,
                                          const std::string& folder, const ImportOptions& options) {
  ModelImporter importer(model, options, folder);
  auto imported = importer.Run();
  if (imported.ok()) return imported;
  std::string message(imported.status().message());
  if (!absl::StartsWith(message, path)) message = absl::StrCat(path, ": ", message);
  if (const auto& dims = importer.default_dims(); !dims.empty()) {
    absl::StrAppend(&message, "; ", absl::StrJoin(dims, ", "), dims.size() == 1 ? " is" : " are",
                    " taken to be ", options.default_dim,
                    " here: --dim NAME=SIZE gives another size");
  }
  return absl::Status(imported.status().code(), message);
}

absl::StatusOr<onnx::ModelProto> MakeQuantized(const QuantizableModel::Impl& model,
                                               const QuantizationPlan& plan,
                                               std::vector<std::string>* notes) {
  ModelEditor editor(*model.index);
  const auto write = [&] {
    switch (plan.form) {
      case QuantizationForm::kStatic:
        return WriteStaticForm(model, plan, &editor, notes);
      case QuantizationForm::kDynamic:
        return WriteDynamicForm(model, plan, &editor, notes);
      case QuantizationForm::kWeights:
        return WriteWeightForm(model, plan, &editor, notes);
      case QuantizationForm::kFloats:
        return WriteFloatForm(model, plan, &editor, notes);
    }
    return absl::InternalError("no such form");
  };
  LEMMA_RETURN_IF_ERROR(write());
  return editor.Finish(notes);
}

}  // namespace lemma
