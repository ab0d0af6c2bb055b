// The element types of tensors.
#ifndef LEMMA_GRAPH_DTYPE_H_
#define LEMMA_GRAPH_DTYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace lemma {

// f16 and bf16 are storage types: values are widened before a computation, and results are rounded.
// The types from kF8E4M3 on are opaque: Lemma knows that a value has the type, but neither stores
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
constexpr int kNumDTypes = static_cast<int>(DType::kU64) + 1;
constexpr int kNumAllDTypes = static_cast<int>(DType::kC128) + 1;

// The name in the text form: "f32", "i64", ….
absl::string_view Name(DType dtype);
// nullopt if no type, opaque ones included, has this name.
std::optional<DType> ParseDType(absl::string_view name);
// Bytes per element; 1 for opaque types, which are not stored.
int64_t SizeOf(DType dtype);
// f32, f64, f16 or bf16.
bool IsFloat(DType dtype);
// f16 or bf16.
bool IsHalfFloat(DType dtype);
// A signed or unsigned integer type; false for bool and for opaque types.
bool IsInteger(DType dtype);
// u8, u16, u32 or u64.
bool IsUnsigned(DType dtype);
bool IsOpaque(DType dtype);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DTYPE_H_
