// The element types of tensors.
#ifndef LEMMA_GRAPH_DTYPE_H_
#define LEMMA_GRAPH_DTYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace lemma {

// f16 and bf16 are storage types: values are widened before a computation, and results are rounded.
// The types from kF8E4M3 to kF4E2M1 are small floats (graph/dtypes/small_float.h): values are
// stored, moved and cast, but no operator computes with them. A value of 4 or 2 bits takes a byte
// in memory; ONNX files pack several such values into a byte (graph/dtypes/packed_values.h).
// The types from kString on are opaque: Lemma knows that a value has the type, but neither stores
// nor computes such values. Only opaque operators, which have no definition, read and return them.
enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI8,
  kU8,
  kBool,
  kI16,
  kU16,
  kU32,
  kU64,
  kF8E4M3,
  kF8E4M3Uz,
  kF8E5M2,
  kF8E5M2Uz,
  kF8E8M0,
  kF4E2M1,
  kI4,
  kU4,
  kI2,
  kU2,
  kString,
  kC64,
  kC128,
};
// The number of types that are not opaque; tables of kernels have an entry for each of them.
constexpr int kNumDTypes = static_cast<int>(DType::kU2) + 1;
constexpr int kFirstSmallFloat = static_cast<int>(DType::kF8E4M3);
constexpr int kNumSmallFloats = static_cast<int>(DType::kF4E2M1) - kFirstSmallFloat + 1;
constexpr int kNumAllDTypes = static_cast<int>(DType::kC128) + 1;

// The name in the text form: "f32", "i64", ….
absl::string_view Name(DType dtype);
// The type with this name, which may be opaque; nullopt if there is none.
std::optional<DType> ParseDType(absl::string_view name);
// Bytes per element in memory; 1 for opaque types, which are not stored.
int64_t SizeOf(DType dtype);
// The bits of a value: 4 or 2 for the types whose values ONNX files pack
// (graph/dtypes/packed_values.h), 8 * SizeOf(dtype) for all other types.
int64_t BitsOf(DType dtype);
// f32, f64, f16 or bf16.
bool IsFloat(DType dtype);
// f16 or bf16.
bool IsHalfFloat(DType dtype);
// A float of 8 or 4 bits. IsFloat is false for these types.
constexpr bool IsSmallFloat(DType dtype) {
  return dtype >= DType::kF8E4M3 && dtype <= DType::kF4E2M1;
}
// Whether values are real numbers, that is, IsFloat or IsSmallFloat.
bool IsReal(DType dtype);
// A signed or unsigned integer type; false for bool and for opaque types.
bool IsInteger(DType dtype);
// u8, u16, u32, u64, u4 or u2.
bool IsUnsigned(DType dtype);
// The least and the largest number of an integer type. For u64, LargestInteger returns -1, which
// has the bits of 2^64 - 1.
int64_t LeastInteger(DType dtype);
int64_t LargestInteger(DType dtype);
// The number of type `dtype` (i4, u4, i2 or u2) in the low bits of `byte`.
int64_t NarrowInteger(DType dtype, uint8_t byte);
bool IsOpaque(DType dtype);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DTYPE_H_
