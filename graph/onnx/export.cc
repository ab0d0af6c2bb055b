#include "graph/onnx/export.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "graph/onnx/export/exporter.h"
#include "graph/onnx/opaque.h"

namespace lemma {
namespace {

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
  std::string reason;
  bool keeps_nodes = true;
  for (int opset = first;;) {
    auto exporter = std::make_unique<Exporter>(graph, options, opset, keeps_nodes);
    if (auto status = exporter->Run(); !status.ok()) return status;
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

void PutInline(const Exporter& exporter) {
  for (const auto& [proto, tensor] : exporter.tensors()) {
    proto->set_raw_data(tensor.raw(), static_cast<size_t>(tensor.type().num_bytes()));
  }
}

// Places tensors one after another, each at a multiple of 64 bytes.
std::vector<absl::string_view> PutBeside(const Exporter& exporter, const std::string& file) {
  static const char kPadding[64] = {};
  std::vector<absl::string_view> pieces;
  int64_t offset = 0;
  for (const auto& [proto, tensor] : exporter.tensors()) {
    const int64_t bytes = tensor.type().num_bytes();
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", file}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(bytes)}};
    for (const auto& [key, value] : entries) {
      auto* entry = proto->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const int64_t padding = (64 - bytes % 64) % 64;
    pieces.emplace_back(static_cast<const char*>(tensor.raw()), static_cast<size_t>(bytes));
    pieces.emplace_back(kPadding, static_cast<size_t>(padding));
    offset += bytes + padding;
  }
  return pieces;
}

}  // namespace

absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options) {
  auto made = MakeModel(graph, options);
  if (!made.ok()) return made.status();
  Exporter& exporter = **made;
  if (exporter.tensor_bytes() > options.max_inline_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights of ", exporter.tensor_bytes(), " bytes need a file of their own"));
  }
  PutInline(exporter);
  return exporter.model().SerializeAsString();
}

absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options) {
  auto made = MakeModel(graph, options);
  if (!made.ok()) return made.status();
  Exporter& exporter = **made;
  std::vector<StagedFile> files;
  auto stage = [&](const std::string& file, const std::vector<absl::string_view>& pieces) {
    auto staged = StagedFile::Write(file, pieces);
    if (staged.ok()) files.push_back(*std::move(staged));
    return staged.status();
  };
  absl::Status status;
  if (exporter.tensor_bytes() <= options.max_inline_bytes) {
    PutInline(exporter);
  } else {
    const std::string data_path = path + ".data";
    status =
        stage(data_path, PutBeside(exporter, std::filesystem::path(data_path).filename().string()));
  }
  if (status.ok()) status = stage(path, {exporter.model().SerializeAsString()});
  if (!status.ok()) return status;
  return files;
}

absl::Status WriteOnnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  auto files = StageOnnx(graph, path, options);
  return files.ok() ? CommitAll(*std::move(files)) : files.status();
}

}  // namespace lemma
