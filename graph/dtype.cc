#include "graph/dtype.h"

namespace lemma {
namespace {

enum class Class { kFloat, kSigned, kUnsigned, kOther };

struct Entry {
  absl::string_view name;
  int64_t bits;
  Class is;
};

constexpr Entry kEntries[kNumAllDTypes] = {
    {"f32", 32, Class::kFloat},       {"f64", 64, Class::kFloat},
    {"f16", 16, Class::kFloat},       {"bf16", 16, Class::kFloat},
    {"i64", 64, Class::kSigned},      {"i32", 32, Class::kSigned},
    {"i8", 8, Class::kSigned},        {"u8", 8, Class::kUnsigned},
    {"bool", 8, Class::kOther},       {"i16", 16, Class::kSigned},
    {"u16", 16, Class::kUnsigned},    {"u32", 32, Class::kUnsigned},
    {"u64", 64, Class::kUnsigned},    {"f8e4m3fn", 8, Class::kOther},
    {"f8e4m3fnuz", 8, Class::kOther}, {"f8e5m2", 8, Class::kOther},
    {"f8e5m2fnuz", 8, Class::kOther}, {"f8e8m0", 8, Class::kOther},
    {"f4e2m1", 4, Class::kOther},     {"i4", 4, Class::kSigned},
    {"u4", 4, Class::kUnsigned},      {"i2", 2, Class::kSigned},
    {"u2", 2, Class::kUnsigned},      {"string", 8, Class::kOther},
    {"c64", 8, Class::kOther},        {"c128", 8, Class::kOther},
};

const Entry& Get(DType dtype) { return kEntries[static_cast<int>(dtype)]; }

}  // namespace

absl::string_view Name(DType dtype) { return Get(dtype).name; }
int64_t SizeOf(DType dtype) { return (Get(dtype).bits + 7) / 8; }
int64_t BitsOf(DType dtype) { return Get(dtype).bits; }
bool IsFloat(DType dtype) { return Get(dtype).is == Class::kFloat; }
bool IsReal(DType dtype) { return IsFloat(dtype) || IsSmallFloat(dtype); }
bool IsHalfFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool IsInteger(DType dtype) { return Get(dtype).is == Class::kSigned || IsUnsigned(dtype); }
bool IsUnsigned(DType dtype) { return Get(dtype).is == Class::kUnsigned; }
int64_t LargestInteger(DType dtype) {
  return static_cast<int64_t>(~uint64_t{0} >> (64 - BitsOf(dtype) + (IsUnsigned(dtype) ? 0 : 1)));
}
int64_t LeastInteger(DType dtype) { return IsUnsigned(dtype) ? 0 : -LargestInteger(dtype) - 1; }
int64_t NarrowInteger(DType dtype, uint8_t byte) {
  const int64_t count = int64_t{1} << BitsOf(dtype), number = byte & (count - 1);
  return number > LargestInteger(dtype) ? number - count : number;
}
bool IsOpaque(DType dtype) { return static_cast<int>(dtype) >= kNumDTypes; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kNumAllDTypes; ++i) {
    if (kEntries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace lemma
