#include "api/models/tensor_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma::api {

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
      if (!std::filesystem::exists(file, error)) break;
      files.push_back(std::move(file));
    }
    if (files.size() == before) {
      return absl::NotFoundError(absl::StrCat(path, ": has no file ", prefix, "0.pb"));
    }
  }
  std::vector<Tensor> tensors;
  for (const std::string& file : files) {
    auto tensor = ReadTensorProto(file);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(std::move(tensor->tensor));
  }
  return tensors;
}

absl::Status SaveOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                         const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    absl::Status saved =
        WriteFileAtomically(absl::StrCat(folder, "/output_", i, ".pb"),
                            {SerializeTensorProto(graph.output_names()[i], outputs[i])});
    if (!saved.ok()) return saved;
  }
  return absl::OkStatus();
}

}  // namespace lemma::api
