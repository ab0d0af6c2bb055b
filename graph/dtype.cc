#include "graph/dtype.h"

namespace lemma {
namespace {

enum class Class { kFloat, kSigned, kUnsigned, kOther };

struct Entry {
  absl::string_view name;
  int64_t size;
  Class is;
};

constexpr Entry kEntries[kNumAllDTypes] = {
    {"f32", 4, Class::kFloat},        {"f64", 8, Class::kFloat},
    {"f16", 2, Class::kFloat},        {"bf16", 2, Class::kFloat},
    {"i64", 8, Class::kSigned},       {"i32", 4, Class::kSigned},
    {"i8", 1, Class::kSigned},        {"u8", 1, Class::kUnsigned},
    {"bool", 1, Class::kOther},       {"i16", 2, Class::kSigned},
    {"u16", 2, Class::kUnsigned},     {"u32", 4, Class::kUnsigned},
    {"u64", 8, Class::kUnsigned},     {"f8e4m3fn", 1, Class::kOther},
    {"f8e4m3fnuz", 1, Class::kOther}, {"f8e5m2", 1, Class::kOther},
    {"f8e5m2fnuz", 1, Class::kOther}, {"f8e8m0", 1, Class::kOther},
    {"f4e2m1", 1, Class::kOther},     {"i4", 1, Class::kOther},
    {"u4", 1, Class::kOther},         {"i2", 1, Class::kOther},
    {"u2", 1, Class::kOther},         {"string", 1, Class::kOther},
    {"c64", 1, Class::kOther},        {"c128", 1, Class::kOther},
};

const Entry& Get(DType dtype) { return kEntries[static_cast<int>(dtype)]; }

}  // namespace

absl::string_view Name(DType dtype) { return Get(dtype).name; }
int64_t SizeOf(DType dtype) { return Get(dtype).size; }
bool IsFloat(DType dtype) { return Get(dtype).is == Class::kFloat; }
bool IsHalfFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool IsInteger(DType dtype) { return Get(dtype).is == Class::kSigned || IsUnsigned(dtype); }
bool IsUnsigned(DType dtype) { return Get(dtype).is == Class::kUnsigned; }
bool IsOpaque(DType dtype) { return static_cast<int>(dtype) >= kNumDTypes; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kNumAllDTypes; ++i) {
    if (kEntries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace lemma
