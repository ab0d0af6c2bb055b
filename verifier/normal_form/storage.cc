#include "verifier/normal_form/storage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lemma::prover {
namespace {

bool IsNarrow(DType dtype) { return IsInteger(dtype) && dtype != DType::kI64; }

// Visits the types of the tensors whose elements contribute to the value of `e`. Skips tensors that
// only select the value.
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

// Whether `e` always has a value of the integer type `dtype`, whatever elements are read.
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
  if (Info(e.fn()).truth()) return true;
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

bool ComputesWithFloats(const Definition& definition, const TensorExpr& tensor) {
  bool floats = false;
  ForEachValueRead(definition, tensor.body,
                   [&](DType dtype) { floats = floats || IsFloat(dtype); });
  return floats;
}

std::string IntegerStorage(const Definition& definition, const TensorExpr& tensor) {
  if (!IsInteger(tensor.dtype) || StaysIn(tensor.dtype, definition, tensor.body)) return "";
  // A real number saturates, an integer wraps.
  bool real = !IsNarrow(tensor.dtype);
  ForEachValueRead(definition, tensor.body, [&](DType dtype) { real = real || IsFloat(dtype); });
  return absl::StrCat(real ? "saturate_" : "wrap_", Name(tensor.dtype));
}

}  // namespace lemma::prover
