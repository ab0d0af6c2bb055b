#include "graph/onnx/import.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/file.h"
#include "graph/onnx/importer.h"

namespace lemma {

bool LooksLikeOnnx(absl::string_view bytes) {
  // Field 1 of ModelProto, the IR version, is written first and is a small number.
  return bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] < 64;
}

namespace {

absl::StatusOr<ImportedModel> ImportBytes(absl::string_view bytes, const ImportOptions& options,
                                          const std::string& directory) {
  onnx::ModelProto model;
  if (static_cast<int64_t>(bytes.size()) > kMaxProtoBytes) {
    return absl::InvalidArgumentError(
        "larger than 2 GB; such a model keeps weights in external data");
  }
  bool parsed = model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!parsed || !model.has_graph()) {
    return absl::InvalidArgumentError(
        LooksLikeOnnx(bytes) ? "the ONNX model is truncated or damaged" : "not an ONNX model");
  }
  return ModelImporter(&model, options, directory).Run();
}

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes,
                                              const ImportOptions& options) {
  return ImportBytes(bytes, options, "");
}

absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  auto bytes = ReadFile(path, kMaxProtoBytes);
  if (!bytes.ok()) return bytes.status();
  std::string directory = std::filesystem::path(path).parent_path().string();
  auto model = ImportBytes(*bytes, options, directory.empty() ? "." : directory);
  if (!model.ok())
    return absl::Status(model.status().code(), absl::StrCat(path, ": ", model.status().message()));
  return model;
}

}  // namespace lemma
