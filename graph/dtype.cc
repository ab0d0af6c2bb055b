#include "graph/dtype.h"

namespace lemma {
namespace {

struct Entry {
  absl::string_view name;
  int64_t size;
  bool is_float, is_integer;
};

constexpr Entry kEntries[kNumDTypes] = {
    {"f32", 4, true, false},  {"f64", 8, true, false}, {"f16", 2, true, false},
    {"bf16", 2, true, false}, {"i64", 8, false, true}, {"i32", 4, false, true},
    {"i8", 1, false, true},   {"u8", 1, false, true},  {"bool", 1, false, false},
};

const Entry& Get(DType dtype) { return kEntries[static_cast<int>(dtype)]; }

}  // namespace

absl::string_view Name(DType dtype) { return Get(dtype).name; }
int64_t SizeOf(DType dtype) { return Get(dtype).size; }
bool IsFloat(DType dtype) { return Get(dtype).is_float; }
bool IsInteger(DType dtype) { return Get(dtype).is_integer; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kEntries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace lemma
