// Writes quantized models to files.
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/dtypes/packed_values.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/quantization/model_impl.h"

namespace lemma {
namespace {

// Larger models keep their constants in a file beside them.
constexpr int64_t kMaxInlineBytes = 1'900'000'000;
constexpr int64_t kMinBesideBytes = 1024;

// The bytes of the constants that the message holds or refers to.
absl::StatusOr<std::vector<Tensor>> ExternalTensors(const std::string& folder,
                                                    onnx::GraphProto* graph) {
  TensorFiles files(folder);
  std::vector<Tensor> tensors;
  for (const auto& proto : graph->initializer()) {
    Tensor tensor;
    if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
      LEMMA_ASSIGN_OR_RETURN(tensor, ToTensor(proto, &files));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.type().num_bytes())};
}

void SetEntry(const char* key, const std::string& value, onnx::TensorProto* proto) {
  auto* entry = proto->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

}  // namespace

std::string QuantizedModel::DataPath(const std::string& path) { return path + ".data"; }

absl::StatusOr<std::vector<StagedFile>> QuantizedModel::Stage(const std::string& path) const {
  onnx::ModelProto model = impl_->proto;
  onnx::GraphProto& graph = *model.mutable_graph();
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> outside,
                         ExternalTensors(impl_->source->folder, &graph));
  int64_t bytes = static_cast<int64_t>(model.ByteSizeLong());
  for (const Tensor& tensor : outside)
    bytes += tensor.empty_handle() ? 0 : tensor.type().num_bytes();
  const bool goes_beside = bytes > kMaxInlineBytes;
  const std::string data_path = DataPath(path);
  std::vector<absl::string_view> pieces;
  std::vector<std::string> storage(outside.size());
  int64_t offset = 0;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    onnx::TensorProto& proto = *graph.mutable_initializer(i);
    const Tensor& tensor = outside[static_cast<size_t>(i)];
    if (!goes_beside || (tensor.empty_handle() && proto.raw_data().size() < kMinBesideBytes)) {
      if (!tensor.empty_handle()) proto = ToProto(proto.name(), tensor);
      continue;
    }
    std::string& own = storage[static_cast<size_t>(i)];
    if (tensor.empty_handle()) {
      own = std::move(*proto.mutable_raw_data());
    } else if (IsPacked(tensor.dtype())) {
      own = Packed(tensor);
    }
    proto.clear_raw_data();
    proto.clear_external_data();
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const bool is_own = tensor.empty_handle() || IsPacked(tensor.dtype());
    pieces.push_back(is_own ? absl::string_view(own) : BytesOf(tensor));
    SetEntry("location", std::filesystem::path(data_path).filename().string(), &proto);
    SetEntry("offset", absl::StrCat(offset), &proto);
    SetEntry("length", absl::StrCat(pieces.back().size()), &proto);
    offset += static_cast<int64_t>(pieces.back().size());
  }
  std::vector<StagedFile> files;
  if (goes_beside) {
    LEMMA_ASSIGN_OR_RETURN(StagedFile data, StagedFile::Write(data_path, pieces));
    files.push_back(std::move(data));
  }
  const std::string text = model.SerializeAsString();
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the model without its constants is larger than 2 GB"));
  }
  LEMMA_ASSIGN_OR_RETURN(StagedFile main, StagedFile::Write(path, {text}));
  files.push_back(std::move(main));
  return files;
}

}  // namespace lemma
