#include "api/models/model_file.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/models/tensor_files.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/proto_conversion.h"
#include "graph/sizes/specialize.h"
#include "graph/text/text.h"

namespace lemma::api {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 32;

// Nothing but printable characters and white space at the beginning.
bool LooksLikeText(absl::string_view bytes) {
  for (char c : bytes.substr(0, 512)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') return false;
  }
  return true;
}

// The first bytes of a file that is neither missing nor empty.
absl::StatusOr<std::string> ReadHead(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a model"));
  }
  auto size = FileSize(path);
  if (!size.ok()) return Prefixed(path, size.status());
  if (*size == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  std::string head(static_cast<size_t>(std::min<int64_t>(*size, 4096)), '\0');
  if (absl::Status s = ReadFileRange(path, 0, static_cast<int64_t>(head.size()), head.data());
      !s.ok()) {
    return Prefixed(path, s);
  }
  return head;
}

}  // namespace

absl::StatusOr<bool> IsTextFile(const std::string& path) {
  auto head = ReadHead(path);
  if (!head.ok()) return head.status();
  return !IsGraphProto(*head) && LooksLikeText(*head);
}

absl::Status Prefixed(const std::string& path, const absl::Status& status) {
  if (absl::StartsWith(status.message(), path)) return status;
  absl::Status prefixed(status.code(), absl::StrCat(path, ": ", status.message()));
  status.ForEachPayload([&prefixed](absl::string_view type, const absl::Cord& payload) {
    prefixed.SetPayload(type, payload);
  });
  return prefixed;
}

const char* Name(ModelFormat format) {
  switch (format) {
    case ModelFormat::kOnnx:
      return "onnx";
    case ModelFormat::kText:
      return "text";
    case ModelFormat::kProto:
      return "proto";
  }
  return "";
}

namespace {

// An error if sizes were given for dimensions that a graph does not have, as no graph of Lemma's
// does.
absl::Status NoDims(const std::string& path, const LoadOptions& how) {
  if (how.dims.empty()) return absl::OkStatus();
  return OptionError(absl::StrCat("option dim: ", path, " has no dimension ",
                                  how.dims.begin()->first, "; only ONNX models have open sizes"));
}

absl::StatusOr<Model> Load(const std::string& path, const LoadOptions& how) {
  auto read = ReadHead(path);
  if (!read.ok()) return read.status();
  const std::string head = *std::move(read);
  Model model;
  model.path = path;
  if (IsGraphProto(head)) {
    auto bytes = ReadFile(path, kMaxFileBytes);
    if (!bytes.ok()) return Prefixed(path, bytes.status());
    auto graph = DeserializeGraph(*bytes, path);
    if (!graph.ok()) return Prefixed(path, graph.status());
    model.graph = *std::move(graph);
    model.format = ModelFormat::kProto;
    if (absl::Status s = NoDims(path, how); !s.ok()) return s;
    return model;
  }
  if (LooksLikeText(head)) {
    auto text = ReadFile(path, kMaxFileBytes);
    if (!text.ok()) return Prefixed(path, text.status());
    ParseOptions options;
    options.file = path;
    auto graph = ParseGraph(*text, options);
    if (!graph.ok()) return Prefixed(path, graph.status());
    model.graph = *std::move(graph);
    if (absl::Status s = NoDims(path, how); !s.ok()) return s;
    return model;
  }
  if (!LooksLikeOnnx(head)) {
    const bool torch = absl::EndsWith(path, ".pt") || absl::EndsWith(path, ".pth");
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": neither an ONNX model nor a graph of Lemma's",
        torch ? "; export PyTorch's with torch.onnx.export, or lemma.from_torch in Python" : ""));
  }
  ImportOptions options;
  options.dims = how.dims;
  options.training = how.training;
  options.symbolic = how.symbolic;
  options.fixes_sizes = how.fixes_sizes;
  options.ranges = how.ranges;
  options.used_sizes = how.used_sizes;
  options.input_values = how.input_values;
  options.keeps_loops = how.keeps_loops;
  options.channel_block = how.channel_block;
  if (!how.input_files.empty()) {
    auto values = ReadTensors(how.input_files, "input_");
    if (!values.ok()) return values.status();
    options.inputs = *std::move(values);
  }
  auto imported = ImportOnnx(path, options);
  if (!imported.ok()) return Prefixed(path, imported.status());
  model.format = ModelFormat::kOnnx;
  model.graph = std::move(imported->graph);
  model.info = std::move(imported->info);
  model.notes = std::move(imported->notes);
  model.bound_dims = std::move(imported->bound_dims);
  model.default_dims = std::move(imported->default_dims);
  model.fixed_inputs = std::move(imported->fixed_inputs);
  model.guesses_channel_block = imported->guesses_channel_block;
  for (std::string& line : imported->opaque) model.notes.push_back(std::move(line));
  return model;
}

}  // namespace

absl::StatusOr<Model> LoadModel(const std::string& path, const std::map<std::string, int64_t>& dims,
                                bool training) {
  LoadOptions options;
  options.dims = dims;
  options.training = training;
  return Load(path, options);
}

absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options) {
  auto model = Load(path, options);
  if (!model.ok() || !options.reseed) return model;
  auto graph = ReseedWeights(model->graph, *options.reseed);
  if (!graph.ok()) return graph.status();
  model->graph = *std::move(graph);
  return model;
}

absl::StatusOr<ModelFormat> FormatOfPath(absl::string_view path) {
  if (absl::EndsWith(path, ".onnx")) return ModelFormat::kOnnx;
  if (absl::EndsWith(path, ".txt") || absl::EndsWith(path, ".lemma")) return ModelFormat::kText;
  if (absl::EndsWith(path, ".pb")) return ModelFormat::kProto;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": what format? a name ends in .onnx, .lemma or .txt (text) or .pb (our protobuf)"));
}

namespace {

// Stages a copy of the file without reading it into memory. An error if the file changes meanwhile.
absl::Status StageCopyOf(const MappedFile& file, const std::string& to,
                         std::vector<StagedFile>* files) {
  auto staged = StagedFile::Write(to, {file.bytes()});
  if (absl::Status s = file.CheckUnchanged(); !s.ok()) return s;
  if (!staged.ok()) return staged.status();
  files->push_back(*std::move(staged));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<StagedFile>> StageCopy(const Model& model, const std::string& sha256,
                                                  const std::string& path) {
  namespace fs = std::filesystem;
  auto file = MappedFile::Open(model.path);
  if (!file.ok()) return absl::NotFoundError(file.status().message());
  Sha256 hash;
  hash.Add((*file)->bytes());
  if (hash.Finish() != sha256) {
    return absl::NotFoundError(absl::StrCat(model.path, ": has changed"));
  }
  std::vector<StagedFile> files;
  for (const std::string& name : model.info.data_files) {
    const std::string from = (fs::path(model.path).parent_path() / name).string();
    const std::string to = (fs::path(path).parent_path() / name).string();
    if (AreOneFile(from, to)) continue;
    auto data = MappedFile::Open(from);
    if (!data.ok()) return absl::NotFoundError(data.status().message());
    std::error_code error;
    if (fs::exists(to, error)) {
      auto there = MappedFile::Open(to);
      if (there.ok() && (*there)->bytes() == (*data)->bytes()) continue;
      return absl::NotFoundError(absl::StrCat(to, ": is another file"));
    }
    if (absl::Status s = StageCopyOf(**data, to, &files); !s.ok()) {
      return absl::IsAborted(s) ? s : absl::NotFoundError(s.message());
    }
  }
  // Weights that were read from these files.
  for (const auto& mapped : model.info.mapped_files) {
    if (absl::Status s = mapped->CheckUnchanged(); !s.ok()) return s;
  }
  if (absl::Status s = StageCopyOf(**file, path, &files); !s.ok()) return Prefixed(path, s);
  return files;
}

absl::StatusOr<std::vector<StagedFile>> StageModel(const Model& model, const std::string& path,
                                                   ModelFormat format,
                                                   std::vector<std::string>* notes) {
  absl::StatusOr<std::vector<StagedFile>> files = std::vector<StagedFile>();
  if (format == ModelFormat::kOnnx) {
    ExportOptions options;
    options.info = model.info;
    options.notes = notes;
    files = StageOnnx(model.graph, path, options);
  } else {
    if (IsSymbolic(model.graph)) {
      return Prefixed(path, absl::UnimplementedError(
                                "only ONNX files hold symbolic sizes; option dims gives numbers"));
    }
    absl::StatusOr<std::string> bytes =
        format == ModelFormat::kText ? PrintGraph(model.graph) : SerializeGraph(model.graph);
    if (!bytes.ok()) return Prefixed(path, bytes.status());
    auto staged = StagedFile::Write(path, {*bytes});
    if (!staged.ok()) return Prefixed(path, staged.status());
    files->push_back(*std::move(staged));
  }
  if (!files.ok()) return Prefixed(path, files.status());
  return files;
}

absl::Status SaveModel(const Model& model, const std::string& path, ModelFormat format) {
  auto files = StageModel(model, path, format);
  return files.ok() ? CommitAll(*std::move(files)) : files.status();
}

absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs) {
  std::map<std::filesystem::path, std::string> seen;
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    if (absl::Status s = CheckWritable(output); !s.ok()) return s;
    for (const std::string& input : inputs) {
      if (!AreOneFile(output, input)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(output, ": would overwrite the input",
                       output == input ? "" : absl::StrCat(" ", input), "; give another name"));
    }
    std::error_code error;
    const std::filesystem::path place = std::filesystem::weakly_canonical(output, error);
    if (std::filesystem::exists(place, error) && !std::filesystem::is_regular_file(place, error)) {
      continue;  // a device takes all that it is given
    }
    if (auto [it, fresh] = seen.emplace(place, output); !fresh) {
      return absl::InvalidArgumentError(
          absl::StrCat(output, ": two results would be written to one file; give another name"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }
  if (absl::Status s = CheckWritable(path); !s.ok()) return s;
  return WriteFileAtomically(path, {text});
}

}  // namespace lemma::api
