// Element types.
#ifndef LEMMA_GRAPH_DTYPE_H_
#define LEMMA_GRAPH_DTYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace lemma {

// f16 and bf16 are storage types: values are widened to f32 before a computation.
enum class DType : uint8_t { kF32, kF64, kF16, kBF16, kI64, kI32, kI8, kU8, kBool };
constexpr int kNumDTypes = static_cast<int>(DType::kBool) + 1;

// "f32", "i64", …; as in the text form.
absl::string_view Name(DType dtype);
std::optional<DType> ParseDType(absl::string_view name);
// Bytes per element.
int64_t SizeOf(DType dtype);
bool IsFloat(DType dtype);
// Signed or unsigned integer; bool is not one.
bool IsInteger(DType dtype);

}  // namespace lemma

#endif  // LEMMA_GRAPH_DTYPE_H_
