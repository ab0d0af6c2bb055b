#include "tests/graph/ops/naive_eval.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

double Smooth(ScalarFn fn, double x) {
  switch (fn) {
    case ScalarFn::kFloor:
      return std::floor(x);
    case ScalarFn::kCeil:
      return std::ceil(x);
    case ScalarFn::kRound:
      return std::nearbyint(x);
    case ScalarFn::kErf:
      return std::erf(x);
    case ScalarFn::kSin:
      return std::sin(x);
    case ScalarFn::kCos:
      return std::cos(x);
    case ScalarFn::kTan:
      return std::tan(x);
    case ScalarFn::kAsin:
      return std::asin(x);
    case ScalarFn::kAcos:
      return std::acos(x);
    case ScalarFn::kAtan:
      return std::atan(x);
    case ScalarFn::kSinh:
      return std::sinh(x);
    case ScalarFn::kCosh:
      return std::cosh(x);
    case ScalarFn::kTanh:
      return std::tanh(x);
    case ScalarFn::kAsinh:
      return std::asinh(x);
    case ScalarFn::kAcosh:
      return std::acosh(x);
    case ScalarFn::kAtanh:
      return std::atanh(x);
    default:
      return NAN;
  }
}

double Call(ScalarFn fn, const std::vector<double>& v) {
  const double a = v[0], b = v.size() > 1 ? v[1] : 0;
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
    case ScalarFn::kExp:
      return std::exp(a);
    case ScalarFn::kLog:
      return std::log(a);
    case ScalarFn::kSqrt:
      return std::sqrt(a);
    case ScalarFn::kPow:
      return std::pow(a, b);
    case ScalarFn::kTrunc:
      return std::trunc(a);
    case ScalarFn::kLess:
      return a < b;
    case ScalarFn::kEqual:
      return a == b;
    case ScalarFn::kNot:
      return a == 0;
    case ScalarFn::kWhere:
      return a != 0 ? b : v[2];
    case ScalarFn::kAnd:
      return a != 0 && b != 0;
    case ScalarFn::kOr:
      return a != 0 || b != 0;
    case ScalarFn::kIsNan:
      return std::isnan(a);
    case ScalarFn::kIsInf:
      return std::isinf(a);
    case ScalarFn::kSign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case ScalarFn::kMod:
      return a - b * std::floor(a / b);
    case ScalarFn::kFmod:
      return std::fmod(a, b);
    default:
      return Smooth(fn, a);
  }
}

double Neutral(ReduceKind kind) {
  const double inf = std::numeric_limits<double>::infinity();
  return kind == ReduceKind::kSum    ? 0
         : kind == ReduceKind::kProd ? 1
         : kind == ReduceKind::kMax  ? -inf
                                     : inf;
}

class Walker {
 public:
  Walker(const Definition& definition, std::vector<std::vector<double>> tensors)
      : definition_(definition), tensors_(std::move(tensors)), vars_(definition.num_vars) {
    env_.var = [this](VarId v) { return vars_[v]; };
  }

  absl::Status Run() {
    for (const TensorExpr& tensor : definition_.tensors) {
      std::vector<double> values;
      ForAll(tensor.axes, 0, [&] { values.push_back(Eval(tensor.body)); });
      tensors_.push_back(std::move(values));
    }
    return error_.empty() ? absl::OkStatus() : absl::InternalError(error_);
  }
  std::vector<double>& tensor(TensorId id) { return tensors_[id]; }

 private:
  int64_t At(const IndexExpr& e) {
    // A data-dependent index on its own, as operators write it.
    if (e.kind() == IndexExpr::Kind::kLoad) {
      return static_cast<int64_t>(Eval(ScalarExpr(e.load())));
    }
    auto value = EvaluateIndex(e, env_);
    if (!value) error_ = absl::StrCat("cannot evaluate ", e.ToString());
    return value.value_or(0);
  }

  void ForAll(const std::vector<Axis>& axes, size_t depth, const std::function<void()>& body) {
    if (depth == axes.size()) return body();
    const int64_t extent = At(axes[depth].extent);
    for (int64_t i = 0; i < extent; ++i) {
      vars_[axes[depth].var] = i;
      ForAll(axes, depth + 1, body);
    }
  }

  bool Holds(const Guard& guard) {
    auto holds = EvaluateGuard(guard, env_);
    if (!holds) error_ = absl::StrCat("cannot decide ", guard.ToString());
    return holds.value_or(false);
  }

  double Read(const ScalarExpr& e) {
    ExprType type = definition_.TypeOf(e.tensor());
    int64_t offset = 0;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      int64_t at = At(e.indices()[i]), size = At(type.dims[i]);
      if (at < 0 || at >= size) {
        error_ = absl::StrCat("read outside: ", e.ToString(), " dimension ", i, " at ", at);
        return 0;
      }
      offset = offset * size + at;
    }
    return tensors_[e.tensor()][offset];
  }

  double Eval(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return e.value();
      case ScalarExpr::Kind::kParam:
        error_ = absl::StrCat("parameter ", e.name());
        return 0;
      case ScalarExpr::Kind::kIndex:
        return static_cast<double>(At(e.index()));
      case ScalarExpr::Kind::kRead:
        return Read(e);
      case ScalarExpr::Kind::kApply: {
        std::vector<double> args;
        for (const ScalarExpr& arg : e.args()) args.push_back(Eval(arg));
        return Call(e.fn(), args);
      }
      case ScalarExpr::Kind::kSelect:
        return Eval(e.args()[Holds(e.guard()) ? 0 : 1]);
      case ScalarExpr::Kind::kReduce: {
        static constexpr ScalarFn kSteps[] = {ScalarFn::kAdd, ScalarFn::kMul, ScalarFn::kMax,
                                              ScalarFn::kMin};
        double result = Neutral(e.reduce());
        ForAll(e.axes(), 0, [&] {
          if (!Holds(e.guard())) return;
          result = Call(kSteps[static_cast<int>(e.reduce())], {result, Eval(e.args()[0])});
        });
        return result;
      }
    }
    return 0;
  }

  const Definition& definition_;
  std::vector<std::vector<double>> tensors_;
  std::vector<std::optional<int64_t>> vars_;
  IndexEnv env_;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::vector<std::vector<double>>> NaiveEvaluate(
    const Definition& definition, const std::vector<std::vector<double>>& inputs) {
  Walker walker(definition, inputs);
  if (auto status = walker.Run(); !status.ok()) return status;
  std::vector<std::vector<double>> outputs;
  for (TensorId id : definition.outputs) outputs.push_back(walker.tensor(id));
  return outputs;
}

}  // namespace lemma
