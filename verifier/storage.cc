#include "verifier/storage.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace lemma::verify {
namespace {

bool IsNarrow(DType dtype) { return IsInteger(dtype) && dtype != DType::kI64; }

// The types of the tensors whose elements are part of the value of `e`; not those that only decide
// which value it is.
template <class Visit>
void ForEachValueRead(const Definition& definition, const ScalarExpr& e, const Visit& visit) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
      visit(definition.TypeOf(e.tensor()).dtype);
      return;
    case ScalarExpr::Kind::kApply:
      if (e.fn() == ScalarFn::kLess || e.fn() == ScalarFn::kEqual) return;
      for (size_t i = e.fn() == ScalarFn::kWhere ? 1 : 0; i < e.args().size(); ++i) {
        ForEachValueRead(definition, e.args()[i], visit);
      }
      return;
    case ScalarExpr::Kind::kSelect:
    case ScalarExpr::Kind::kReduce:
      for (const ScalarExpr& arg : e.args()) ForEachValueRead(definition, arg, visit);
      return;
    default:
      return;
  }
}

// Whether the value of `e` is one of the integer type `dtype` whatever the elements read are.
bool StaysIn(DType dtype, const Definition& definition, const ScalarExpr& e) {
  auto arguments_stay = [&](size_t from = 0) {
    return std::all_of(e.args().begin() + from, e.args().end(),
                       [&](const ScalarExpr& arg) { return StaysIn(dtype, definition, arg); });
  };
  const bool wide = dtype == DType::kI64;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return Holds(dtype, e.value());
    case ScalarExpr::Kind::kParam:
      return false;
    case ScalarExpr::Kind::kIndex:
      return wide;
    case ScalarExpr::Kind::kRead:
      return Holds(dtype, definition.TypeOf(e.tensor()).dtype);
    case ScalarExpr::Kind::kSelect:
      return arguments_stay();
    case ScalarExpr::Kind::kReduce:
      return (wide || e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin) &&
             arguments_stay();
    case ScalarExpr::Kind::kApply:
      break;
  }
  if (IsTruthValue(e.fn())) return true;
  switch (e.fn()) {
    case ScalarFn::kWhere:
      return arguments_stay(1);
    case ScalarFn::kMin:
    case ScalarFn::kMax:
      return arguments_stay();
    case ScalarFn::kTrunc:
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
    case ScalarFn::kSign:
      return wide;
    case ScalarFn::kAdd:
    case ScalarFn::kSub:
    case ScalarFn::kMul:
    case ScalarFn::kNeg:
    case ScalarFn::kAbs:
    case ScalarFn::kMod:
    case ScalarFn::kFmod:
      return wide && arguments_stay();
    default:
      return false;
  }
}

}  // namespace

bool IsTruthValue(ScalarFn fn) {
  switch (fn) {
    case ScalarFn::kLess:
    case ScalarFn::kEqual:
    case ScalarFn::kAnd:
    case ScalarFn::kOr:
    case ScalarFn::kNot:
    case ScalarFn::kIsNan:
    case ScalarFn::kIsInf:
      return true;
    default:
      return false;
  }
}

bool Holds(DType dtype, double value) {
  switch (dtype) {
    case DType::kF64:
      return true;
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value)) == value || std::isnan(value);
    case DType::kF16:
    case DType::kBF16:
      // Small integers; what else there is does not matter here.
      return std::isinf(value) || (value == std::floor(value) && std::abs(value) <= 256);
    case DType::kI64:
      return value == std::floor(value) && std::abs(value) < 0x1p63;
    case DType::kI32:
      return value == std::floor(value) && value >= -0x1p31 && value < 0x1p31;
    case DType::kI8:
      return value == std::floor(value) && value >= -128 && value <= 127;
    case DType::kU8:
      return value == std::floor(value) && value >= 0 && value <= 255;
    case DType::kBool:
      return value == 0 || value == 1;
  }
  return false;
}

bool Holds(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  const bool byte = from == DType::kI8 || from == DType::kU8;
  switch (to) {
    case DType::kF64:
      return from != DType::kI64;
    case DType::kF32:
      return byte || from == DType::kF16 || from == DType::kBF16;
    case DType::kI64:
      return byte || from == DType::kI32;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI32:
      return byte;
    default:
      return false;
  }
}

std::string IntegerStorage(const Definition& definition, const TensorExpr& tensor) {
  if (!IsInteger(tensor.dtype) || StaysIn(tensor.dtype, definition, tensor.body)) return "";
  // A real number saturates, an integer wraps.
  bool real = !IsNarrow(tensor.dtype);
  ForEachValueRead(definition, tensor.body, [&](DType dtype) { real = real || IsFloat(dtype); });
  return absl::StrCat(real ? "saturate_" : "wrap_", Name(tensor.dtype));
}

}  // namespace lemma::verify
