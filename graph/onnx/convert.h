// Converts types and tensors between ONNX's messages and Lemma. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_CONVERT_H_
#define LEMMA_GRAPH_ONNX_CONVERT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mapped_file.h"
#include "graph/tensor.h"

namespace lemma {

// Protobuf's limit on the size of a message.
constexpr int64_t kMaxProtoBytes = INT32_MAX;

// ToOnnxType returns the number of `dtype` in ONNX's TensorProto.DataType. FromOnnxType returns the
// type that has the given number, or Unimplemented if Lemma does not know it.
int32_t ToOnnxType(DType dtype);
absl::StatusOr<DType> FromOnnxType(int32_t onnx_type);

// Tensors of fewer bytes than this are copied. Larger ones may share the bytes
// of a file or a message.
constexpr int64_t kMinSharedBytes = 4096;

// Values of a tensor that lie outside its message, in the layout of raw_data.
struct RawBytes {
  std::shared_ptr<const void> data;  // points to the values and keeps them alive; nullptr: none
  int64_t size = 0;                  // in bytes
};

// The folder with a model's external data, and the files in it that have been mapped.
class TensorFiles {
 public:
  // If `folder` is empty, external data are refused.
  explicit TensorFiles(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // Maps a file into memory; a second call for the same path returns the same mapping. folder() is
  // not put in front of `path`.
  absl::StatusOr<std::shared_ptr<const MappedFile>> Map(const std::string& path);
  // All files that were mapped, by path in ascending order.
  std::vector<std::shared_ptr<const MappedFile>> mapped() const;

 private:
  const std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

// The tensor that `proto` describes. `raw`, if it has data, takes the place of
// raw_data. Checks sizes before any allocation. External data and `raw` of at
// least kMinSharedBytes are shared, not copied, if they are aligned. There are
// two exceptions: packed values (graph/dtypes/packed_values.h) are unpacked;
// and data with bools other than 0 and 1 are copied, and these bools become 1
// in the copy. InvalidArgument if the data do not fit the type or are refused.
// Unimplemented for an element type that Lemma does not know, and for tensor
// segments. Complex numbers, which Lemma does not store, give one of the two.
absl::StatusOr<Tensor> ToTensor(const onnx::TensorProto& proto, TensorFiles* files,
                                const RawBytes& raw = {});
// The same, with external data in `folder`; if `folder` is empty, external data are refused.
absl::StatusOr<Tensor> ToTensor(const onnx::TensorProto& proto, const std::string& folder);

// The tensor as a message with the name `name` and the values in raw_data.
onnx::TensorProto ToProto(absl::string_view name, const Tensor& tensor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONVERT_H_
