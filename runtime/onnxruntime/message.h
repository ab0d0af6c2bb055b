// Messages, as bytes, between Lemma and the process that runs ONNX Runtime (ort_process.h).
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_MESSAGE_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_MESSAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"

namespace lemma::ort {

// Each function appends one item to the message.
class MessageWriter {
 public:
  void Number(int64_t number);
  void Text(absl::string_view text);
  void Texts(const std::vector<std::string>& texts);
  void Status(const absl::Status& status);
  void Tensors(absl::Span<const Tensor> tensors);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads the items that a MessageWriter wrote, in the order in which they were written. If the bytes
// end too soon, missing numbers are 0, missing texts are empty, and missing statuses are OK.
class MessageReader {
 public:
  // `bytes` must outlive the reader.
  explicit MessageReader(absl::string_view bytes) : bytes_(bytes) {}

  int64_t Number();
  std::string Text();
  std::vector<std::string> Texts();
  absl::Status Status();
  // DataLoss if the next item is no list of tensors, or if the bytes end too
  // soon; ResourceExhausted if a tensor cannot be allocated.
  absl::StatusOr<std::vector<Tensor>> Tensors();

 private:
  absl::string_view Take(size_t size);

  absl::string_view bytes_;
  bool complete_ = true;
};

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_MESSAGE_H_
