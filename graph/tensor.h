// Shapes, tensor types and dense tensors in host memory.
#ifndef LEMMA_GRAPH_TENSOR_H_
#define LEMMA_GRAPH_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"

namespace lemma {

// Sizes of the dimensions, outermost first; rank 0 is a scalar. A size may be symbolic
// (graph/sizes/symbolic_size.h), except where a function below counts or multiplies sizes.
using Shape = std::vector<int64_t>;

// The number of elements of `shape`; INT64_MAX if the number is larger.
int64_t NumElements(const Shape& shape);
// "[2,3]", "[seq,8]"
std::string ToString(const Shape& shape);
// Row-major strides in elements.
std::vector<int64_t> RowMajorStrides(const Shape& shape);

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t num_elements() const { return NumElements(shape); }
  // INT64_MAX if the number is larger.
  int64_t num_bytes() const;
  uint64_t Hash() const;
  // "f32[2,3]"
  std::string ToString() const;
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  }
  friend bool operator!=(const TensorType& a, const TensorType& b) { return !(a == b); }
};

// Dense row-major values. Copies share the buffer. A tensor is immutable once it is shared.
class Tensor {
 public:
  Tensor() = default;
  // Uninitialized values in a buffer aligned to 64 bytes. ResourceExhausted if the allocation
  // fails; Unimplemented for an opaque element type.
  static absl::StatusOr<Tensor> Allocate(TensorType type);
  // Every element is `value`, converted to the element type. For a float type, `value` is rounded.
  // For an integer type, it is truncated and limited to the type's range, and NaN becomes 0. A bool
  // is 1 unless `value` is 0. Errors as in Allocate.
  static absl::StatusOr<Tensor> Filled(TensorType type, double value);
  // `values` in row-major order, converted as in Filled. InvalidArgument if their number is not the
  // number of elements of `type`; other errors as in Allocate. For u64, pass FromInts a number
  // >= 2^63 as the negative number with the same bits.
  static absl::StatusOr<Tensor> FromDoubles(TensorType type, absl::Span<const double> values);
  static absl::StatusOr<Tensor> FromInts(TensorType type, absl::Span<const int64_t> values);
  // A tensor whose buffer is *values, such as a part of a mapped file. The tensor shares ownership
  // of the buffer, which must be aligned to the size of an element. Do not call mutable_raw on this
  // tensor. Not for opaque types.
  static Tensor Borrowed(TensorType type, std::shared_ptr<const void> values);
  // A 1-d i64 tensor.
  static Tensor Ints(absl::Span<const int64_t> values);
  static Tensor ScalarF32(float value);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t size() const { return type_.num_elements(); }
  // Whether there is no buffer: the tensor is default-constructed. A tensor without elements has a
  // buffer.
  bool empty_handle() const { return buffer_ == nullptr; }

  const void* raw() const { return buffer_.get(); }
  // Only before the tensor is shared.
  void* mutable_raw() { return buffer_.get(); }
  // T is the stored type: uint16_t for f16 and bf16, uint8_t for bool.
  template <class T>
  absl::Span<const T> data() const {
    return {static_cast<const T*>(raw()), static_cast<size_t>(size())};
  }
  template <class T>
  absl::Span<T> mutable_data() {
    return {static_cast<T*>(mutable_raw()), static_cast<size_t>(size())};
  }

  // Element `i` in row-major order, widened. AtDouble rounds i64 and u64 values beyond 2^53.
  double AtDouble(int64_t i) const;
  // Floats are truncated and limited to int64_t, NaN gives 0; a u64 from 2^63 on gives the negative
  // number with the same bits.
  int64_t AtInt(int64_t i) const;
  std::vector<double> ToDoubles() const;
  std::vector<int64_t> ToInts() const;

  // Whether no element is infinite or NaN.
  bool IsFinite() const;

  // A tensor of another shape that shares the buffer. The number of elements must be the same (not
  // checked).
  Tensor Reshaped(Shape shape) const;
  // Stable hash of type and bytes; computed once, and 0 without a buffer. Thread-safe.
  uint64_t ContentHash() const;
  // Whether types and bytes agree: a NaN equals a NaN of the same bits, and 0 differs from -0.
  bool SameBytes(const Tensor& other) const;

 private:
  TensorType type_;
  std::shared_ptr<char> buffer_;
  std::shared_ptr<uint64_t> hash_;  // 0: not computed yet
};

// Conversions between f32 and f16 or bf16, whose values are given as their bits. Conversions to 16
// bits round to nearest, ties to even.
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

}  // namespace lemma

#endif  // LEMMA_GRAPH_TENSOR_H_
