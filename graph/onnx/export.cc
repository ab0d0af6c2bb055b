#include "graph/onnx/export.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/export/exporter.h"
#include "graph/onnx/export/inline_values.h"
#include "graph/onnx/export/small_types.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/opaque.h"

namespace lemma {
namespace {

// Beside a file of weights, tensors of up to this many bytes are in the model.
constexpr int64_t kMaxInsideBytes = 1024;

// The input's operator set or, for a graph that was not imported, at least the sets of nodes that
// are kept.
int FirstOpset(const Graph& graph, const ExportOptions& options) {
  int opset = options.info.opset;
  if (options.info.origin != nullptr) return opset;
  for (const NodePtr& node : graph.nodes()) {
    if (node->IsOp("opaque")) opset = std::max(opset, OpsetOfOpaque(node->String("payload")));
  }
  return opset;
}

// Tries operator sets until one has all operators.
absl::StatusOr<std::unique_ptr<Exporter>> MakeModel(const Graph& graph,
                                                    const ExportOptions& options) {
  const int first = FirstOpset(graph, options);
  int opset = first;
  std::string reason;
  for (const NodePtr& node : graph.nodes()) {
    for (const TensorType& type : node->types()) {
      if (OpsetOfType(type.dtype) <= opset) continue;
      opset = OpsetOfType(type.dtype);
      reason = absl::StrCat("element type ", Name(type.dtype));
    }
  }
  bool keeps_nodes = true;
  while (true) {
    auto exporter = std::make_unique<Exporter>(graph, options, opset, keeps_nodes);
    if (auto status = exporter->Run(); !status.ok()) {
      return reason.empty()
                 ? status
                 : absl::Status(status.code(), absl::StrCat(status.message(), "; ", reason));
    }
    if (exporter->needed_opset() > opset) {
      opset = exporter->needed_opset();
      if (reason.empty()) reason = exporter->reason();
      continue;
    }
    if (!exporter->is_ordered()) {
      keeps_nodes = false;
      continue;
    }
    if (opset != first && options.notes != nullptr) {
      options.notes->push_back(absl::StrCat("the result is of operator set ", opset,
                                            ", the input of ", first, ": ", reason));
    }
    return exporter;
  }
}

// The serialized model, in pieces; all but the values are in `storage`.
std::vector<absl::string_view> Serialized(const onnx::ModelProto& model,
                                          const std::vector<Tensor>& inside,
                                          std::deque<std::string>* storage) {
  storage->push_back(model.SerializeAsString());
  return WithInlineValues(storage->front(), inside, storage);
}

std::vector<Tensor> Values(const Exporter& exporter) {
  std::vector<Tensor> values;
  for (const auto& [proto, tensor] : exporter.tensors()) values.push_back(tensor);
  return values;
}

// The values that go to a file of their own, and its bytes.
struct Beside {
  std::vector<Tensor> inside;  // by tensor, the values that stay in the model
  std::vector<absl::string_view> pieces;
};

// Places tensors one after another, each at a multiple of 64 bytes. Those of up to `max_inside`
// bytes, such as shapes, stay in the model, where all tools find them.
Beside PutBeside(const Exporter& exporter, const std::string& file, int64_t max_inside) {
  static const char kPadding[64] = {};
  Beside beside;
  int64_t offset = 0;
  for (const auto& [proto, tensor] : exporter.tensors()) {
    const int64_t bytes = tensor.type().num_bytes();
    const bool is_inside = bytes <= max_inside;
    beside.inside.push_back(is_inside ? tensor : Tensor());
    if (is_inside) continue;
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", file}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(bytes)}};
    for (const auto& [key, value] : entries) {
      auto* entry = proto->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const int64_t padding = (64 - bytes % 64) % 64;
    beside.pieces.emplace_back(static_cast<const char*>(tensor.raw()), static_cast<size_t>(bytes));
    beside.pieces.emplace_back(kPadding, static_cast<size_t>(padding));
    offset += bytes + padding;
  }
  return beside;
}

// An error if a file with weights has changed: then the graph is not what it was.
absl::Status CheckUnchanged(const OnnxInfo& info) {
  for (const auto& file : info.mapped_files) {
    if (absl::Status s = file->CheckUnchanged(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// Weights of a model that kept them in files go to a file again.
bool GoBeside(const Exporter& exporter, const ExportOptions& options) {
  if (exporter.tensor_bytes() > options.max_inline_bytes) return true;
  const auto& tensors = exporter.tensors();
  return !options.info.data_files.empty() &&
         std::any_of(tensors.begin(), tensors.end(), [](const auto& entry) {
           return entry.second.type().num_bytes() > kMaxInsideBytes;
         });
}

}  // namespace

absl::Status CheckExport(const Graph& graph, const ExportOptions& options) {
  ExportOptions silent = options;
  silent.notes = nullptr;
  return MakeModel(graph, silent).status();
}

absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options) {
  auto made = MakeModel(graph, options);
  if (!made.ok()) return made.status();
  Exporter& exporter = **made;
  if (exporter.tensor_bytes() > options.max_inline_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights of ", exporter.tensor_bytes(), " bytes need a file of their own"));
  }
  std::deque<std::string> storage;
  return absl::StrJoin(Serialized(exporter.model(), Values(exporter), &storage), "");
}

absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options) {
  auto made = MakeModel(graph, options);
  if (!made.ok()) return made.status();
  Exporter& exporter = **made;
  std::vector<StagedFile> files;
  auto stage = [&](const std::string& file, const std::vector<absl::string_view>& pieces) {
    auto staged = StagedFile::Write(file, pieces);
    if (!staged.ok()) return staged.status();
    files.push_back(*std::move(staged));
    return absl::OkStatus();
  };
  absl::Status status;
  std::vector<Tensor> inside;
  if (GoBeside(exporter, options)) {
    const std::string data_path = path + ".data";
    for (const auto& file : options.info.mapped_files) {
      if (!AreOneFile(data_path, file->path())) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          data_path, ": would overwrite the input's weights; give another name or folder"));
    }
    Beside beside = PutBeside(exporter, std::filesystem::path(data_path).filename().string(),
                              std::min(kMaxInsideBytes, options.max_inline_bytes));
    inside = std::move(beside.inside);
    status = stage(data_path, beside.pieces);
  } else {
    inside = Values(exporter);
  }
  std::deque<std::string> storage;
  if (status.ok()) status = stage(path, Serialized(exporter.model(), inside, &storage));
  // A file that changed is the reason why it could not be read.
  if (absl::Status s = CheckUnchanged(options.info); !s.ok()) return s;
  if (!status.ok()) return status;
  return files;
}

absl::StatusOr<ImportedModel> RoundTrip(const Graph& graph, const ExportOptions& options,
                                        const ImportOptions& import) {
  auto made = MakeModel(graph, options);
  if (!made.ok()) return made.status();
  onnx::ModelProto model;
  if (!model.ParseFromString((*made)->model().SerializeAsString())) {
    return absl::InternalError("a model that was written cannot be read");
  }
  std::vector<RawBytes> values;
  for (const Tensor& tensor : Values(**made)) {
    auto owner = std::make_shared<const Tensor>(tensor);
    values.push_back({std::shared_ptr<const void>(owner, owner->raw()), tensor.type().num_bytes()});
  }
  return ModelImporter(&model, import, "", std::move(values)).Run();
}

absl::Status WriteOnnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  auto files = StageOnnx(graph, path, options);
  return files.ok() ? CommitAll(*std::move(files)) : files.status();
}

}  // namespace lemma
