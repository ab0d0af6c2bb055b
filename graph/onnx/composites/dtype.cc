#include "graph/onnx/composites/dtype.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/dtypes/small_float.h"
#include "graph/onnx/composites/build.h"

namespace lemma::ops {
namespace {

// In the order of DType.
constexpr int64_t kOnnxNumbers[] = {1,  11, 10, 16, 7,  6,  3,  2,  9,  5,  4, 12,
                                    13, 17, 18, 19, 20, 24, 23, 22, 21, 26, 25};
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

std::vector<std::pair<std::string, OnnxAttr>> CastAttributes(DType to) {
  std::vector<std::pair<std::string, OnnxAttr>> attrs = {{"to", ToOnnxNumber(to)}};
  if (IsSmallFloat(to) && to != DType::kF4E2M1) attrs.emplace_back("saturate", int64_t{0});
  if (to == DType::kF8E8M0) attrs.emplace_back("round_mode", std::string("nearest"));
  return attrs;
}

absl::StatusOr<SmallCast> ReadSmallCast(OnnxImport& node) {
  SmallCast how;
  LEMMA_ASSIGN_OR_RETURN(const int64_t saturate, node.Int("saturate", 1));
  how.saturate = saturate != 0;
  LEMMA_ASSIGN_OR_RETURN(how.round_mode, node.String("round_mode", "up"));
  return how;
}

namespace {

// Our cast rounds to the nearest power of two. `up` doubles what is below x, `down` halves what is
// above it.
absl::StatusOr<Value> RoundedPower(OnnxImport& node, const Value& x, const std::string& mode) {
  OnnxBuild b(node);
  const Value near = b.Cast(b.Cast(x, DType::kF8E8M0), x.dtype());
  Value y = near;
  if (mode == "up") {
    y = b.Op("where", {b.Op("less", {near, x}), b.Mul(near, b.Scalar(x.dtype(), 2)), near});
  } else if (mode == "down") {
    y = b.Op("where", {b.Op("less", {x, near}), b.Mul(near, b.Scalar(x.dtype(), 0.5)), near});
  } else if (mode != "nearest") {
    return absl::InvalidArgumentError(absl::StrCat("round_mode is ", mode));
  }
  if (!b.status().ok()) return b.status();
  return y;
}

}  // namespace

absl::StatusOr<Value> CastAsOnnx(OnnxImport& node, Value x, DType to, const SmallCast& how) {
  if (x.dtype() == to) return x;
  if (BitsOf(to) < 8 && IsInteger(to) && IsReal(x.dtype())) {
    if (IsSmallFloat(x.dtype())) {
      LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kF32));
    }
    LEMMA_ASSIGN_OR_RETURN(x, node.Op("round", {x}));
    LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kI32));
  }
  if (!IsSmallFloat(to)) return Cast(node, x, to);
  // A larger integer than f32 holds saturates or overflows in any case.
  const bool is_power = to == DType::kF8E8M0;
  if (!IsFloat(x.dtype()) || (is_power && IsHalfFloat(x.dtype()))) {
    LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kF32));
  }
  if (how.saturate && to != DType::kF4E2M1) {
    const double most = LargestSmallFloat(to), least = is_power ? 1 / most : -most;
    LEMMA_ASSIGN_OR_RETURN(x, node.Op("clip", {x}, {{"min", least}, {"max", most}}));
  }
  if (is_power) {
    LEMMA_ASSIGN_OR_RETURN(x, RoundedPower(node, x, how.round_mode));
  }
  return Cast(node, x, to);
}

}  // namespace lemma::ops
