#include "graph/onnx/composites/dtype.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace lemma::ops {
namespace {

// In the order of DType.
constexpr int64_t kOnnxNumbers[] = {1, 11, 10, 16, 7, 6, 3, 2, 9, 5, 4, 12, 13};
static_assert(sizeof(kOnnxNumbers) / sizeof(kOnnxNumbers[0]) == kNumDTypes);

}  // namespace

int64_t ToOnnxNumber(DType dtype) { return kOnnxNumbers[static_cast<int>(dtype)]; }

absl::StatusOr<DType> FromOnnxNumber(const OnnxImport& node, int64_t number) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kOnnxNumbers[i] == number) return static_cast<DType>(i);
  }
  return node.Unsupported(absl::StrCat("element type ", number));
}

absl::StatusOr<Value> Cast(OnnxImport& node, const Value& x, DType to) {
  if (x.dtype() == to) return x;
  return node.Op("cast", {x}, {{"dtype", std::string(Name(to))}});
}

}  // namespace lemma::ops
