#include "graph/onnx/import.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
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

namespace {

// A model's file, whose import may be tried several times: with dimensions fixed to numbers.
class Import {
 public:
  Import(const std::string& path, const ImportOptions& options) : path_(path), options_(options) {}

  absl::StatusOr<ImportedModel> Run() {
    absl::StatusOr<ImportedModel> imported = Attempt();
    if (!options_.fixes_sizes || !options_.symbolic) return imported;
    const absl::Status why = imported.status();
    while (!imported.ok() && Fix(importer_needs_)) imported = Attempt();
    const bool has_values = !options_.inputs.empty() || !options_.input_values.empty();
    for (int64_t length : {256, 512, 1024, 2048, 1}) {
      if (imported.ok() || fixed_.empty() || has_values) break;
      for (auto& [name, size] : fixed_) {
        if (size != 1 || length == 1) options_.dims[name] = size = length;
      }
      do {
        imported = Attempt();
      } while (!imported.ok() && Fix(importer_needs_, length));
    }
    if (!imported.ok()) return why;
    for (const auto& [name, size] : fixed_) {
      imported->bound_dims.emplace(name, size);
      imported->notes.push_back(absl::StrCat("dimension ", name, " is fixed to ", size, ", since ",
                                             why.message(), "; --dim ", name,
                                             "=SIZE gives another size"));
    }
    return imported;
  }

 private:
  absl::StatusOr<ImportedModel> Attempt() {
    importer_needs_.clear();
    auto file = MappedFile::Open(path_);
    if (!file.ok()) return file.status();
    onnx::ModelProto model;
    LEMMA_RETURN_IF_ERROR(ParseModel((*file)->bytes(), &model));
    *file = nullptr;  // its bytes have been copied
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    ModelImporter importer(&model, options_, folder.empty() ? "." : folder);
    auto imported = importer.Run();
    if (!imported.ok()) importer_needs_ = importer.needed_sizes();
    return imported;
  }

  // Fixes these dimensions, to `length` instead of a usual size other than 1 if it is given; false
  // if that changes nothing or is not allowed.
  bool Fix(const DimValues& sizes, int64_t length = 0) {
    for (const auto& [name, size] : sizes) {
      if (options_.ranges.count(name) > 0) return false;
    }
    for (const auto& [name, size] : sizes) {
      fixed_[name] = options_.dims[name] = length > 0 && size != 1 ? length : size;
    }
    return !sizes.empty();
  }

  const std::string path_;
  ImportOptions options_;
  DimValues fixed_, importer_needs_;
};

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  auto imported = Import(path, options).Run();
  if (imported.ok()) return imported;
  return absl::Status(imported.status().code(),
                      absl::StrCat(path, ": ", imported.status().message()));
}

}  // namespace lemma
