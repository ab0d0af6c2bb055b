#include "runtime/onnxruntime/message.h"

#include <cstring>
#include <utility>

#include "graph/dtype.h"

namespace lemma::ort {

void MessageWriter::Number(int64_t number) {
  bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void MessageWriter::Text(absl::string_view text) {
  Number(static_cast<int64_t>(text.size()));
  bytes_.append(text.data(), text.size());
}

void MessageWriter::Texts(const std::vector<std::string>& texts) {
  Number(static_cast<int64_t>(texts.size()));
  for (const std::string& text : texts) Text(text);
}

void MessageWriter::Status(const absl::Status& status) {
  Number(static_cast<int64_t>(status.code()));
  Text(status.message());
}

void MessageWriter::Tensors(absl::Span<const Tensor> tensors) {
  Number(static_cast<int64_t>(tensors.size()));
  for (const Tensor& tensor : tensors) {
    Number(static_cast<int64_t>(tensor.dtype()));
    Number(tensor.type().rank());
    for (int64_t size : tensor.shape()) Number(size);
    Text({static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.type().num_bytes())});
  }
}

absl::string_view MessageReader::Take(size_t size) {
  complete_ = complete_ && size <= bytes_.size();
  if (!complete_) return {};
  const absl::string_view taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}

int64_t MessageReader::Number() {
  int64_t number = 0;
  const absl::string_view bytes = Take(sizeof number);
  if (complete_) std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::string MessageReader::Text() {
  const auto size = static_cast<size_t>(Number());
  return std::string(Take(size));
}

std::vector<std::string> MessageReader::Texts() {
  std::vector<std::string> texts;
  for (int64_t left = Number(); left > 0 && complete_; --left) texts.push_back(Text());
  return texts;
}

absl::Status MessageReader::Status() {
  const auto code = static_cast<absl::StatusCode>(Number());
  return {code, Text()};
}

absl::StatusOr<std::vector<Tensor>> MessageReader::Tensors() {
  const absl::Status broken = absl::DataLossError("a message between processes is broken");
  std::vector<Tensor> tensors;
  for (int64_t left = Number(); left > 0 && complete_; --left) {
    const int64_t dtype = Number();
    Shape shape;
    for (int64_t rank = Number(); rank > 0 && complete_; --rank) shape.push_back(Number());
    const auto size = static_cast<size_t>(Number());
    const absl::string_view bytes = Take(size);
    const TensorType type{static_cast<DType>(dtype), std::move(shape)};
    if (!complete_ || dtype < 0 || dtype >= kNumDTypes ||
        type.num_bytes() != static_cast<int64_t>(size)) {
      return broken;
    }
    auto tensor = Tensor::Allocate(type);
    if (!tensor.ok()) return tensor.status();
    if (size > 0) std::memcpy(tensor->mutable_raw(), bytes.data(), size);
    tensors.push_back(*std::move(tensor));
  }
  if (!complete_) return broken;
  return tensors;
}

}  // namespace lemma::ort
