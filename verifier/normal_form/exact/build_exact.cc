// Builds normal forms in which arithmetic that rounds nothing is interpreted, and all other
// arithmetic is a function of its operands that nothing is known of (docs/proofs.md).
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/storage.h"

namespace lemma::prover {
namespace {

// A number that is a single constant summand.
bool IsRational(const NormalForm& form) {
  if (form.terms.empty()) return true;
  const Summand& t = form.terms[0];
  return form.terms.size() == 1 && t.axes.empty() && t.guards.empty() && t.atoms.empty() &&
         t.coefficient.AsConst().has_value();
}

bool IsOne(const NormalForm& form) {
  return IsRational(form) && !form.terms.empty() && form.terms[0].coefficient == Poly(1) &&
         form.terms[0].denominator == 1;
}

bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// 1/form, if it is a power of two or minus one.
std::optional<NormalForm> InversePower(const NormalForm& form) {
  if (!IsRational(form) || form.terms.empty()) return std::nullopt;
  const int64_t n = *form.terms[0].coefficient.AsConst(), d = form.terms[0].denominator;
  if (n == INT64_MIN || !IsPowerOfTwo(std::abs(n)) || !IsPowerOfTwo(d)) return std::nullopt;
  return Number(n > 0 ? d : -d, std::abs(n));
}

NormalForm OfFn(ScalarFn fn, const std::vector<NormalForm>& args) {
  return OfAtom(FnAtom(Info(fn).name, args));
}

// Also to decide something.
bool ReadsFloats(const Definition& definition, const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kRead && IsFloat(definition.TypeOf(e.tensor()).dtype)) {
    return true;
  }
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return ReadsFloats(definition, arg); });
}

}  // namespace

FormBuilder::Computation FormBuilder::Enter(const TensorExpr& tensor) {
  const Computation before = computation_;
  computation_.digits = DigitsOf(tensor.dtype);
  if (!IsFloat(tensor.dtype) && ReadsFloats(definition_, tensor.body)) {
    computation_.digits = DigitsOf(DType::kBF16);  // of whichever float it reads
    bool all_f32 = true;
    for (const ExprType& input : definition_.inputs) {
      all_f32 = all_f32 && !IsHalfFloat(input.dtype);
    }
    for (const TensorExpr& other : definition_.tensors) {
      all_f32 = all_f32 && !IsHalfFloat(other.dtype);
    }
    if (all_f32) computation_.digits = DigitsOf(DType::kF32);
  }
  // An integer has no sign of zero.
  if (!IsFloat(tensor.dtype)) computation_.any_zero = true;
  return before;
}

bool FormBuilder::AnyZero(ScalarFn fn, size_t i, bool any_zero) {
  switch (fn) {
    case ScalarFn::kLess:
    case ScalarFn::kEqual:
      return true;
    case ScalarFn::kWhere:
      return i == 0 || any_zero;
    case ScalarFn::kDiv:
      return i == 0 && any_zero;
    case ScalarFn::kAdd:
    case ScalarFn::kSub:
    case ScalarFn::kMul:
    case ScalarFn::kNeg:
    case ScalarFn::kMin:
    case ScalarFn::kMax:
    case ScalarFn::kAbs:
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
    case ScalarFn::kTrunc:
      return any_zero;
    default:
      return false;
  }
}

bool FormBuilder::IsExact(const NormalForm& form) {
  if (computation_.digits == 0) return true;
  return normalizer_->SpanOf(form, *context_).FitsBits(computation_.digits);
}

// x + 0.
NormalForm FormBuilder::Unsigned(const NormalForm& form) {
  if (form.terms.empty() || computation_.any_zero) return form;
  const Span span = normalizer_->SpanOf(form, *context_);
  if (computation_.digits == 0 || (span.exact && !span.minus_zero)) return form;
  return OfAtom(FnAtom(kPlusZero, {form}));
}

// a + b. `unsigned_zero`: one of them is never -0.
std::optional<NormalForm> FormBuilder::ExactSum(const NormalForm& a, const NormalForm& b,
                                                bool unsigned_zero) {
  if (computation_.digits == 0) return Sum(a, b);
  if (!unsigned_zero && !computation_.any_zero) return std::nullopt;
  if (!IsExact(a) || !IsExact(b)) return std::nullopt;
  NormalForm sum = Sum(Unsigned(a), Unsigned(b));
  // Not less than both operands: a sum of many digits is rounded.
  const Span bound = Plus(normalizer_->SpanOf(a, *context_), normalizer_->SpanOf(b, *context_));
  if (!bound.FitsBits(computation_.digits)) return std::nullopt;
  return sum;
}

std::optional<NormalForm> FormBuilder::ExactProduct(const NormalForm& a, const NormalForm& b) {
  const Span x = normalizer_->SpanOf(a, *context_), y = normalizer_->SpanOf(b, *context_);
  if (computation_.digits > 0) {
    if (!IsExact(a) || !IsExact(b)) return std::nullopt;
    if (!Times(x, y).FitsBits(computation_.digits)) return std::nullopt;
    if (!computation_.any_zero && ProductMayBeMinusZero(x, y)) return std::nullopt;
  }
  NormalForm product = forms_.Product(Unsigned(a), Unsigned(b));
  normalizer_->Remember(product, Times(x, y));
  return product;
}

NormalForm FormBuilder::ApplyWhereExact(ScalarFn fn, const std::vector<NormalForm>& args) {
  constexpr size_t kMost = 3000;
  size_t terms = 1;
  for (const NormalForm& arg : args) terms *= std::max<size_t>(arg.terms.size(), 1);
  if (terms > kMost && error_.empty()) error_ = "a product has too many terms";
  if (!error_.empty()) return {};
  auto span = [&](size_t i) { return normalizer_->SpanOf(args[i], *context_); };
  auto unsigned_zero = [&](size_t i) { return span(i).exact && !span(i).minus_zero; };
  switch (fn) {
    case ScalarFn::kAdd:
      for (size_t i = 0; i < 2; ++i) {
        if (args[i].terms.empty()) return Unsigned(args[1 - i]);
      }
      if (auto sum = ExactSum(args[0], args[1], unsigned_zero(0) || unsigned_zero(1))) return *sum;
      return OfFn(fn, args);
    case ScalarFn::kSub:
      if (args[1].terms.empty()) return args[0];
      if (auto sum = ExactSum(args[0], Scaled(Unsigned(args[1]), -1), unsigned_zero(0)))
        return *sum;
      if (IsRational(args[1])) return OfFn(ScalarFn::kAdd, {args[0], Scaled(args[1], -1)});
      return OfFn(fn, args);
    case ScalarFn::kNeg: {
      if (computation_.digits == 0) return Scaled(args[0], -1);
      const Span s = span(0);
      const bool zero = s.low <= 0 && s.high >= 0;
      if (s.exact && (computation_.any_zero || !zero)) return Scaled(Unsigned(args[0]), -1);
      return OfFn(fn, args);
    }
    case ScalarFn::kMul:
      for (size_t i = 0; i < 2; ++i) {
        if (IsOne(args[i])) return args[1 - i];
      }
      if (auto product = ExactProduct(args[0], args[1])) return *product;
      return OfFn(fn, args);
    case ScalarFn::kDiv: {
      if (computation_.digits == 0) return OfFn(fn, args);
      // Multiplying by the reciprocal of a power of two rounds as dividing does.
      if (const auto inverse = InversePower(args[1])) {
        return ApplyWhereExact(ScalarFn::kMul, {args[0], *inverse});
      }
      if (IsRational(args[1]) && !args[1].terms.empty() && IsExact(args[0])) {
        // The quotient is exact if the real quotient is: a multiple of the divisor.
        const int64_t n = *args[1].terms[0].coefficient.AsConst();
        const int64_t d = args[1].terms[0].denominator;
        if (n > 0 && (computation_.any_zero || !span(0).minus_zero)) {
          const NormalForm quotient =
              normalizer_->Combine(forms_.Product(Unsigned(args[0]), Number(d, n)));
          if (IsExact(quotient)) return quotient;
        }
      }
      return OfFn(fn, args);
    }
    case ScalarFn::kMax:
    case ScalarFn::kMin: {
      NormalForm form = Max(args);
      if (fn == ScalarFn::kMin) form.terms[0].atoms[0].name = "min";
      return form;
    }
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
    case ScalarFn::kTrunc:
      return computation_.digits == 0 ? args[0] : OfFn(fn, args);
    default:
      return OfFn(fn, args);
  }
}

// `all` is the sum of magnitudes with the ranges of its axes, and "value" in the place of `body`.
bool FormBuilder::IsExactSum(const Summand& all, const NormalForm& body, Span* bound) {
  const Span one = normalizer_->SpanOf(body, *context_);
  if (computation_.digits > 0 && !one.FitsBits(computation_.digits)) return false;
  if (one.minus_zero && computation_.digits > 0 && !computation_.any_zero) return false;
  // 0 <= points <= bound
  Summand points = all;
  points.atoms.clear();
  const Span count = normalizer_->SpanOf(NormalForm{{points}}, *context_);
  const double most = std::max(std::abs(one.low), std::abs(one.high));
  const Span magnitude = Times(count, {-most, most, true, one.unit, false});
  *bound = magnitude;
  bound->exact = bound->exact && one.exact;
  return computation_.digits == 0 || magnitude.FitsBits(computation_.digits);
}

// As it is read by another operator (`rounds`) or by its own.
NormalForm FormBuilder::StoredExactly(NormalForm value, const TensorExpr& tensor, bool rounds) {
  std::string storage = IntegerStorage(definition_, tensor);
  // A float may be infinite or NaN, which 64 bits do not hold either.
  const bool floats = IsInteger(tensor.dtype) && ComputesWithFloats(definition_, tensor);
  if (storage.empty() && floats) storage = absl::StrCat("saturate_", Name(tensor.dtype));
  if (!storage.empty()) {
    value = OfAtom(FnAtom(std::move(storage), {std::move(value)}));
  } else if (rounds && IsFloat(tensor.dtype) &&
             !normalizer_->Holds(tensor.dtype, value, *context_)) {
    value = OfAtom(FnAtom(RoundingTo(tensor.dtype), {std::move(value)}));
  }
  if (!rounds) return value;
  const Span span = normalizer_->SpanOf(value, *context_);
  NormalForm simpler = normalizer_->Simplify(value, *context_);
  normalizer_->Remember(simpler, span);
  return simpler;
}

}  // namespace lemma::prover
