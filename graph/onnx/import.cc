#include "graph/onnx/import.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/mapped_file.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"

namespace lemma {

bool LooksLikeOnnx(absl::string_view bytes) {
  // Field 1 of ModelProto, the IR version, is written first and is a small number.
  return bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] < 64;
}

std::map<std::string, int> UnknownOperators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->IsOp("opaque")) continue;
    const std::string& domain = node->String("domain");
    ++counts[absl::StrCat(domain, domain.empty() ? "" : ".", node->String("op_type"))];
  }
  return counts;
}

static absl::Status ParseModel(absl::string_view bytes, onnx::ModelProto* model) {
  if (static_cast<int64_t>(bytes.size()) > kMaxProtoBytes) {
    return absl::InvalidArgumentError(
        "larger than 2 GB; such a model keeps weights in external data");
  }
  bool parsed = model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (parsed && model->has_graph()) return absl::OkStatus();
  return absl::InvalidArgumentError(LooksLikeOnnx(bytes) ? "the ONNX model is truncated or damaged"
                                                         : "not an ONNX model");
}

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes,
                                              const ImportOptions& options) {
  onnx::ModelProto model;
  if (auto status = ParseModel(bytes, &model); !status.ok()) return status;
  return ModelImporter(&model, options, "").Run();
}

absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  onnx::ModelProto model;
  absl::Status status = ParseModel((*file)->bytes(), &model);
  *file = nullptr;  // its bytes have been copied
  if (status.ok()) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    auto imported = ModelImporter(&model, options, directory.empty() ? "." : directory).Run();
    if (imported.ok()) return imported;
    status = imported.status();
  }
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace lemma
