#include "tests/kernels/evaluate/naive_evaluator.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace lemma {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "naive evaluator: %s\n", what.c_str());
  std::abort();
}

// Rounded towards zero and saturated; 0 for NaN.
int64_t Whole(double value) {
  if (std::isnan(value)) return 0;
  if (value <= -0x1p63) return INT64_MIN;
  return value < 0x1p63 ? static_cast<int64_t>(value) : INT64_MAX;
}

double ApplyReal(ScalarFn fn, double a, double b, double c) {
  switch (fn) {
    case ScalarFn::kAdd:
      return a + b;
    case ScalarFn::kSub:
      return a - b;
    case ScalarFn::kMul:
      return a * b;
    case ScalarFn::kDiv:
      return a / b;
    case ScalarFn::kNeg:
      return -a;
    case ScalarFn::kMin:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
    case ScalarFn::kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
    case ScalarFn::kAbs:
      return std::fabs(a);
    case ScalarFn::kSign:
      return std::isnan(a) ? a : (a > 0) - (a < 0);
    case ScalarFn::kFloor:
      return std::floor(a);
    case ScalarFn::kCeil:
      return std::ceil(a);
    case ScalarFn::kRound:
      return std::nearbyint(a);
    case ScalarFn::kRoundTf32: {
      const auto f = static_cast<float>(a);
      if (f == 0 || !std::isfinite(f)) return static_cast<double>(f);
      const double unit = std::ldexp(1.0, std::max(std::ilogb(f), -126) - 10);
      return static_cast<double>(
          static_cast<float>(std::round(static_cast<double>(f) / unit) * unit));
    }
    case ScalarFn::kTrunc:
      return std::trunc(a);
    case ScalarFn::kMod:
      return a - b * std::floor(a / b);
    case ScalarFn::kFmod:
      return std::fmod(a, b);
    case ScalarFn::kExp:
      return std::exp(a);
    case ScalarFn::kLog:
      return std::log(a);
    case ScalarFn::kSqrt:
      return std::sqrt(a);
    case ScalarFn::kPow:
      return std::pow(a, b);
    case ScalarFn::kErf:
      return std::erf(a);
    case ScalarFn::kSin:
      return std::sin(a);
    case ScalarFn::kCos:
      return std::cos(a);
    case ScalarFn::kTan:
      return std::tan(a);
    case ScalarFn::kAsin:
      return std::asin(a);
    case ScalarFn::kAcos:
      return std::acos(a);
    case ScalarFn::kAtan:
      return std::atan(a);
    case ScalarFn::kSinh:
      return std::sinh(a);
    case ScalarFn::kCosh:
      return std::cosh(a);
    case ScalarFn::kTanh:
      return std::tanh(a);
    case ScalarFn::kAsinh:
      return std::asinh(a);
    case ScalarFn::kAcosh:
      return std::acosh(a);
    case ScalarFn::kAtanh:
      return std::atanh(a);
    case ScalarFn::kLess:
      return a < b;
    case ScalarFn::kEqual:
      return a == b;
    case ScalarFn::kAnd:
      return a != 0 && b != 0;
    case ScalarFn::kOr:
      return a != 0 || b != 0;
    case ScalarFn::kNot:
      return a == 0;
    case ScalarFn::kIsNan:
      return std::isnan(a);
    case ScalarFn::kIsInf:
      return std::isinf(a);
    case ScalarFn::kWhere:
      return a != 0 ? b : c;
    case ScalarFn::kBitAnd:
      return static_cast<double>(Whole(a) & Whole(b));
    default:
      break;
  }
  Die("a value is stored between operators only");
}

double Apply(ScalarFn fn, double a, double b, double c) { return ApplyReal(fn, a, b, c); }
Field Apply(ScalarFn fn, Field a, Field b, Field c) { return ApplyField(fn, a, b, c); }
// Arithmetic wraps. Other functions get small numbers only.
int64_t Apply(ScalarFn fn, int64_t a, int64_t b, int64_t c) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (fn) {
    case ScalarFn::kAdd:
      return static_cast<int64_t>(x + y);
    case ScalarFn::kSub:
      return static_cast<int64_t>(x - y);
    case ScalarFn::kMul:
      return static_cast<int64_t>(x * y);
    case ScalarFn::kMin:
      return a < b ? a : b;
    case ScalarFn::kMax:
      return a > b ? a : b;
    case ScalarFn::kLess:
      return a < b;
    case ScalarFn::kEqual:
      return a == b;
    case ScalarFn::kWhere:
      return a != 0 ? b : c;
    case ScalarFn::kBitAnd:
      return a & b;
    case ScalarFn::kDiv:
    case ScalarFn::kMod:
    case ScalarFn::kFmod:
      if (b == 0) return 0;
      [[fallthrough]];
    default:
      return static_cast<int64_t>(ApplyReal(fn, a, b, c));
  }
}

double FromDouble(double value, double*) { return value; }
Field FromDouble(double value, Field*) { return Field::FromDouble(value); }
int64_t FromDouble(double value, int64_t*) {
  if (std::isinf(value)) return value < 0 ? INT64_MIN : INT64_MAX;
  return static_cast<int64_t>(value);
}
int64_t ToIndex(double value) { return static_cast<int64_t>(value); }
int64_t ToIndex(Field value) { return value.Signed(); }
int64_t ToIndex(int64_t value) { return value; }

template <class T>
class Evaluator {
 public:
  Evaluator(const Definition& definition, std::vector<Dense<T>> inputs)
      : definition_(definition), tensors_(std::move(inputs)) {}

  absl::StatusOr<std::vector<Dense<T>>> Run() {
    for (const TensorExpr& tensor : definition_.tensors) {
      Dense<T> result;
      for (const Axis& axis : tensor.axes) result.dims.push_back(Index(axis.extent));
      Fill(tensor, 0, &result);
      tensors_.push_back(std::move(result));
    }
    if (!error_.empty()) return absl::InternalError(error_);
    return std::move(tensors_);
  }

 private:
  // Records the first error; later errors may follow from it.
  template <class Value>
  Value Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
    return Value();
  }

  void Fill(const TensorExpr& tensor, size_t axis, Dense<T>* result) {
    if (axis == tensor.axes.size()) return result->data.push_back(Value(tensor.body));
    for (int64_t i = 0; i < result->dims[axis]; ++i) {
      vars_[tensor.axes[axis].var] = i;
      Fill(tensor, axis + 1, result);
    }
  }

  int64_t Index(const IndexExpr& e) {
    if (e.is_const()) return e.value();
    if (e.kind() == IndexExpr::Kind::kVar) return vars_.at(e.var());
    if (e.kind() == IndexExpr::Kind::kLoad) return ToIndex(Value(ScalarExpr(e.load())));
    if (e.kind() == IndexExpr::Kind::kSymbol) return Fail<int64_t>("symbol " + e.name());
    int64_t a = Index(e.lhs()), b = Index(e.rhs());
    const IndexExpr::Kind kind = e.kind();
    const bool divides = kind == IndexExpr::Kind::kFloorDiv || kind == IndexExpr::Kind::kMod;
    if (divides && b <= 0) return Fail<int64_t>("divisor of " + e.ToString());
    switch (kind) {
      case IndexExpr::Kind::kAdd:
        return a + b;
      case IndexExpr::Kind::kMul:
        return a * b;
      case IndexExpr::Kind::kFloorDiv:
        return a / b - (a % b < 0 ? 1 : 0);  // -a may be no number
      case IndexExpr::Kind::kMod:
        return a % b < 0 ? a % b + b : a % b;
      case IndexExpr::Kind::kMin:
        return a < b ? a : b;
      default:
        return a > b ? a : b;
    }
  }

  bool Holds(const Guard& g) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
        return true;
      case Guard::Kind::kFalse:
        return false;
      case Guard::Kind::kLe:
        return Index(g.lhs()) <= Index(g.rhs());
      case Guard::Kind::kEq:
        return Index(g.lhs()) == Index(g.rhs());
      case Guard::Kind::kAnd:
        return Holds(g.left()) && Holds(g.right());
      case Guard::Kind::kOr:
        return Holds(g.left()) || Holds(g.right());
      case Guard::Kind::kNot:
        return !Holds(g.left());
    }
    return false;
  }

  T Value(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return FromDouble(e.value(), static_cast<T*>(nullptr));
      case ScalarExpr::Kind::kIndex:
        return static_cast<T>(Index(e.index()));
      case ScalarExpr::Kind::kRead: {
        const Dense<T>& tensor = tensors_[e.tensor()];
        int64_t offset = 0;
        for (size_t d = 0; d < tensor.dims.size(); ++d) {
          int64_t index = Index(e.indices()[d]);
          if (index < 0 || index >= tensor.dims[d])
            return Fail<T>("out of bounds: " + e.ToString());
          offset = offset * tensor.dims[d] + index;
        }
        return tensor.data[offset];
      }
      case ScalarExpr::Kind::kApply: {
        T args[3] = {};
        for (size_t i = 0; i < e.args().size(); ++i) args[i] = Value(e.args()[i]);
        return Apply(e.fn(), args[0], args[1], args[2]);
      }
      case ScalarExpr::Kind::kSelect:
        return Value(e.args()[Holds(e.guard()) ? 0 : 1]);
      case ScalarExpr::Kind::kReduce: {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        const double identity[] = {0, 1, -kInf, kInf};
        T acc = FromDouble(identity[static_cast<int>(e.reduce())], static_cast<T*>(nullptr));
        Reduce(e, 0, &acc);
        return acc;
      }
      case ScalarExpr::Kind::kParam:
        break;
    }
    return Fail<T>("parameter " + e.name());
  }

  void Reduce(const ScalarExpr& e, size_t axis, T* acc) {
    constexpr ScalarFn kFns[] = {ScalarFn::kAdd, ScalarFn::kMul, ScalarFn::kMax, ScalarFn::kMin};
    if (axis == e.axes().size()) {
      if (Holds(e.guard())) {
        *acc = Apply(kFns[static_cast<int>(e.reduce())], *acc, Value(e.args()[0]), T{});
      }
      return;
    }
    const int64_t extent = Index(e.axes()[axis].extent);
    const VarId var = e.axes()[axis].var;
    auto outer = vars_.find(var);
    const bool shadows = outer != vars_.end();
    const int64_t saved = shadows ? outer->second : 0;
    for (int64_t i = 0; i < extent; ++i) {
      vars_[var] = i;
      Reduce(e, axis + 1, acc);
    }
    if (shadows) vars_[var] = saved;
  }

  const Definition& definition_;
  std::vector<Dense<T>> tensors_;
  std::map<VarId, int64_t> vars_;
  std::string error_;
};

}  // namespace

template <class T>
std::vector<Dense<T>> AllTensorsNaively(const Definition& definition,
                                        std::vector<Dense<T>> inputs) {
  auto tensors = Evaluator<T>(definition, std::move(inputs)).Run();
  if (!tensors.ok()) Die(std::string(tensors.status().message()));
  return *std::move(tensors);
}

absl::StatusOr<std::vector<std::vector<double>>> OutputsNaively(
    const Definition& definition, const std::vector<std::vector<double>>& inputs) {
  std::vector<Dense<double>> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back({{}, inputs[i]});
    for (const IndexExpr& dim : definition.inputs[i].dims) {
      tensors.back().dims.push_back(dim.value());
    }
  }
  auto all = Evaluator<double>(definition, std::move(tensors)).Run();
  if (!all.ok()) return all.status();
  std::vector<std::vector<double>> outputs;
  for (TensorId id : definition.outputs) outputs.push_back((*all)[id].data);
  return outputs;
}

template std::vector<Dense<double>> AllTensorsNaively(const Definition&,
                                                      std::vector<Dense<double>>);
template std::vector<Dense<Field>> AllTensorsNaively(const Definition&, std::vector<Dense<Field>>);
template std::vector<Dense<int64_t>> AllTensorsNaively(const Definition&,
                                                       std::vector<Dense<int64_t>>);

}  // namespace lemma
