#include "graph/onnx/quantization/rewrite.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/static_form.h"

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

absl::StatusOr<ImportedModel> ImportProto(onnx::ModelProto* model, const std::string& path,
                                          const std::string& folder, const ImportOptions& options) {
  auto imported = ModelImporter(model, options, folder).Run();
  if (imported.ok() || absl::StartsWith(imported.status().message(), path)) return imported;
  return absl::Status(imported.status().code(),
                      absl::StrCat(path, ": ", imported.status().message()));
}

absl::StatusOr<onnx::ModelProto> MakeQuantized(const QuantizableModel::Impl& model,
                                               const QuantizationPlan& plan,
                                               std::vector<std::string>* notes) {
  ModelEditor editor(*model.index);
  LEMMA_RETURN_IF_ERROR(WriteStaticForm(model, plan, &editor, notes));
  return editor.Finish(notes);
}

}  // namespace lemma
