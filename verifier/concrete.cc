#include "verifier/concrete.h"

#include <algorithm>
#include <cmath>

namespace lemma::verify {

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
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case ScalarFn::kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case ScalarFn::kAbs:
      return std::abs(a);
    case ScalarFn::kSign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case ScalarFn::kFloor:
      return std::floor(a);
    case ScalarFn::kCeil:
      return std::ceil(a);
    case ScalarFn::kRound:
      return std::nearbyint(a);
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
  }
  return NAN;
}

namespace {

double ApplyFn(ScalarFn fn, double a, double b, double c) { return ApplyReal(fn, a, b, c); }
Field ApplyFn(ScalarFn fn, Field a, Field b, Field c) { return ApplyField(fn, a, b, c); }
double FromReal(double x, double*) { return x; }
Field FromReal(double x, Field*) { return Field::FromDouble(x); }
std::optional<int64_t> ToInteger(double x) {
  if (!(std::abs(x) < 1e15) || x != std::floor(x)) return std::nullopt;
  return static_cast<int64_t>(x);
}
std::optional<int64_t> ToInteger(Field x) {
  if (x.is_special()) return std::nullopt;
  return x.Signed();
}

template <class Number>
class Interpreter {
 public:
  Interpreter(const Definition& definition, std::vector<Values<Number>> tensors,
              const std::map<std::string, Number>& params, int64_t max_steps)
      : definition_(definition),
        tensors_(std::move(tensors)),
        params_(params),
        vars_(definition.num_vars, 0),
        bound_(definition.num_vars, false),
        steps_(max_steps) {}

  std::optional<std::vector<Values<Number>>> Run() {
    for (const TensorExpr& tensor : definition_.tensors) {
      Values<Number> values;
      int64_t size = 1;
      for (const Axis& axis : tensor.axes) {
        const int64_t extent = std::max<int64_t>(0, Index(axis.extent));
        values.dims.push_back(extent);
        if (extent > steps_ || size > steps_) failed_ = true;
        if (failed_) return std::nullopt;
        size *= extent;
      }
      values.data.reserve(size);
      for (int64_t i = 0; i < size && !failed_; ++i) {
        int64_t rest = i;
        for (size_t d = tensor.axes.size(); d-- > 0;) {
          Set(tensor.axes[d].var, rest % values.dims[d]);
          rest /= values.dims[d];
        }
        values.data.push_back(Scalar(tensor.body));
      }
      if (failed_) return std::nullopt;
      tensors_.push_back(std::move(values));
    }
    std::vector<Values<Number>> outputs;
    for (TensorId id : definition_.outputs) outputs.push_back(tensors_[id]);
    return outputs;
  }

 private:
  Number Fail() {
    failed_ = true;
    return Number();
  }
  void Set(VarId var, int64_t value) {
    if (var < 0 || static_cast<size_t>(var) >= vars_.size()) {
      failed_ = true;
      return;
    }
    vars_[var] = value;
    bound_[var] = true;
  }

  int64_t Index(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        return e.value();
      case IndexExpr::Kind::kVar:
        return vars_[e.var()];
      case IndexExpr::Kind::kSymbol:
        failed_ = true;
        return 0;
      case IndexExpr::Kind::kLoad: {
        auto value = ToInteger(Scalar(ScalarExpr(e.load())));
        if (!value) failed_ = true;
        return value.value_or(0);
      }
      default:
        break;
    }
    const int64_t a = Index(e.lhs()), b = Index(e.rhs());
    switch (e.kind()) {
      case IndexExpr::Kind::kAdd:
        return a + b;
      case IndexExpr::Kind::kMul:
        return a * b;
      case IndexExpr::Kind::kMin:
        return std::min(a, b);
      case IndexExpr::Kind::kMax:
        return std::max(a, b);
      default:
        break;
    }
    if (b <= 0) {
      failed_ = true;
      return 0;
    }
    const int64_t q = a / b - (a % b < 0 ? 1 : 0);
    return e.kind() == IndexExpr::Kind::kFloorDiv ? q : a - b * q;
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

  Number Read(const ScalarExpr& e) {
    const Values<Number>& tensor = tensors_[e.tensor()];
    int64_t offset = 0;
    for (size_t d = 0; d < e.indices().size(); ++d) {
      const int64_t i = Index(e.indices()[d]);
      if (i < 0 || i >= tensor.dims[d]) return Fail();
      offset = offset * tensor.dims[d] + i;
    }
    return tensor.data[offset];
  }

  Number Reduce(const ScalarExpr& e, size_t axis, Number so_far) {
    if (failed_) return so_far;
    if (axis == e.axes().size()) {
      if (!Holds(e.guard())) return so_far;
      const Number value = Scalar(e.args()[0]);
      switch (e.reduce()) {
        case ReduceKind::kSum:
          return so_far + value;
        case ReduceKind::kProd:
          return so_far * value;
        case ReduceKind::kMax:
          return ApplyFn(ScalarFn::kMax, so_far, value, Number());
        case ReduceKind::kMin:
          return ApplyFn(ScalarFn::kMin, so_far, value, Number());
      }
    }
    const int64_t extent = Index(e.axes()[axis].extent);
    for (int64_t i = 0; i < extent && !failed_; ++i) {
      Set(e.axes()[axis].var, i);
      so_far = Reduce(e, axis + 1, so_far);
    }
    return so_far;
  }

  Number Scalar(const ScalarExpr& e) {
    if (--steps_ < 0 || failed_) return Fail();
    Number* tag = nullptr;
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return FromReal(e.value(), tag);
      case ScalarExpr::Kind::kParam: {
        auto it = params_.find(e.name());
        return it == params_.end() ? Fail() : it->second;
      }
      case ScalarExpr::Kind::kIndex:
        return FromReal(static_cast<double>(Index(e.index())), tag);
      case ScalarExpr::Kind::kRead:
        return Read(e);
      case ScalarExpr::Kind::kApply: {
        Number args[3] = {};
        for (size_t i = 0; i < e.args().size() && i < 3; ++i) args[i] = Scalar(e.args()[i]);
        return ApplyFn(e.fn(), args[0], args[1], args[2]);
      }
      case ScalarExpr::Kind::kSelect:
        return Scalar(e.args()[Holds(e.guard()) ? 0 : 1]);
      case ScalarExpr::Kind::kReduce: {
        const double start[] = {0, 1, -INFINITY, INFINITY};
        return Reduce(e, 0, FromReal(start[static_cast<int>(e.reduce())], tag));
      }
    }
    return Fail();
  }

  const Definition& definition_;
  std::vector<Values<Number>> tensors_;
  const std::map<std::string, Number>& params_;
  std::vector<int64_t> vars_;
  std::vector<bool> bound_;
  int64_t steps_;
  bool failed_ = false;
};

}  // namespace

template <class Number>
std::optional<std::vector<Values<Number>>> EvaluateAll(const Definition& definition,
                                                       const std::vector<Values<Number>>& inputs,
                                                       const std::map<std::string, Number>& params,
                                                       int64_t max_steps) {
  return Interpreter<Number>(definition, inputs, params, max_steps).Run();
}

template std::optional<std::vector<Values<double>>> EvaluateAll<double>(
    const Definition&, const std::vector<Values<double>>&, const std::map<std::string, double>&,
    int64_t);
template std::optional<std::vector<Values<Field>>> EvaluateAll<Field>(
    const Definition&, const std::vector<Values<Field>>&, const std::map<std::string, Field>&,
    int64_t);

}  // namespace lemma::verify
