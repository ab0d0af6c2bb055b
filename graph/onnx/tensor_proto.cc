#include "graph/onnx/tensor_proto.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "graph/onnx/convert.h"

namespace lemma {
namespace {

absl::StatusOr<NamedTensor> Parse(absl::string_view bytes, const std::string& directory) {
  onnx::TensorProto proto;
  if (static_cast<int64_t>(bytes.size()) > kMaxProtoBytes ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("truncated, or not an ONNX tensor");
  }
  auto tensor = ToTensor(proto, directory);
  if (!tensor.ok()) return tensor.status();
  return NamedTensor{proto.name(), *std::move(tensor)};
}

}  // namespace

absl::StatusOr<NamedTensor> ParseTensorProto(absl::string_view bytes) { return Parse(bytes, ""); }

absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path) {
  auto bytes = ReadFile(path, kMaxProtoBytes);
  if (!bytes.ok()) return bytes.status();
  std::string directory = std::filesystem::path(path).parent_path().string();
  auto tensor = Parse(*bytes, directory.empty() ? "." : directory);
  if (!tensor.ok()) {
    return absl::Status(tensor.status().code(),
                        absl::StrCat(path, ": ", tensor.status().message()));
  }
  return tensor;
}

std::string SerializeTensorProto(absl::string_view name, const Tensor& tensor) {
  return ToProto(name, tensor).SerializeAsString();
}

}  // namespace lemma
