#include "api/models/tensor_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/models/npy.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma::api {
namespace {

absl::StatusOr<Tensor> ReadTensor(const std::string& path) {
  {
    auto file = MappedFile::Open(path);
    if (file.ok() && IsNpy((*file)->bytes())) {
      auto tensor = ParseNpy((*file)->bytes());
      if (!tensor.ok()) return Prefixed(path, tensor.status());
      return tensor;
    }
  }
  auto tensor = ReadTensorProto(path);
  if (tensor.ok()) return std::move(tensor->tensor);
  if (absl::IsInvalidArgument(tensor.status()) && absl::EndsWith(path, ".npy")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a .npy file: it does not begin with \\x93NUMPY"));
  }
  return tensor.status();
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ReadTensors(const std::vector<std::string>& paths,
                                                const std::string& prefix) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (int i = 0;; ++i) {
      std::string file = absl::StrCat(path, "/", prefix, i, ".pb");
      if (!std::filesystem::exists(file, error)) {
        file = absl::StrCat(path, "/", prefix, i, ".npy");
      }
      if (!std::filesystem::exists(file, error)) break;
      files.push_back(std::move(file));
    }
    if (files.size() == before) {
      return absl::NotFoundError(
          absl::StrCat(path, ": has no file ", prefix, "0.pb or ", prefix, "0.npy"));
    }
  }
  std::vector<Tensor> tensors;
  for (const std::string& file : files) {
    auto tensor = ReadTensor(file);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

std::string OutputPath(const std::string& folder, size_t i, TensorFormat format) {
  return absl::StrCat(folder, "/output_", i, format == TensorFormat::kNpy ? ".npy" : ".pb");
}

absl::Status SaveOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                         const std::string& folder, TensorFormat format) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = OutputPath(folder, i, format);
    if (format == TensorFormat::kProto) {
      absl::Status saved =
          WriteFileAtomically(path, {SerializeTensorProto(graph.output_names()[i], outputs[i])});
      if (!saved.ok()) return saved;
      continue;
    }
    auto bytes = SerializeNpy(outputs[i]);
    if (!bytes.ok()) return Prefixed(path, bytes.status());
    if (absl::Status s = WriteFileAtomically(path, {*bytes}); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace lemma::api
