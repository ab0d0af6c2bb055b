#include "verifier/referee/evidence/error_bounds.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/substitute.h"

namespace lemma::referee {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;  // largest relative error of one rounding to f32
constexpr double kSecondOrder = 1.01;
// Beyond this relative error the first-order bounds below do not hold.
constexpr double kLargestRelative = 0.005;
// Roundings that a function of one argument may add: libraries are accurate to a few units.
constexpr double kFunctionRoundings = 8;

struct Bounded {
  ScalarExpr value, magnitude, roundings;
};

ScalarExpr Max(const ScalarExpr& a, const ScalarExpr& b) { return Apply(ScalarFn::kMax, a, b); }
ScalarExpr Abs(const ScalarExpr& a) { return Apply(ScalarFn::kAbs, a); }

// The relative error of `x`, for its value.
ScalarExpr RelativeError(const Bounded& x) {
  return x.roundings * ScalarExpr(kUnit * kSecondOrder) * x.magnitude / Abs(x.value);
}
// relative * factor / u + more if that is small, else infinite.
ScalarExpr Roundings(const ScalarExpr& relative, double factor, double more) {
  const ScalarExpr error = relative * ScalarExpr(factor);
  const ScalarExpr roundings = error * ScalarExpr(kSecondOrder / kUnit) + ScalarExpr(more);
  return Apply(ScalarFn::kWhere, Apply(ScalarFn::kLess, error, ScalarExpr(kLargestRelative)),
               roundings, ScalarExpr(kNoBound));
}

// Each tensor t becomes tensor 3t, also where its elements are positions.
ScalarExpr WithValueTensors(const ScalarExpr& e) {
  ExprSubstitution renumbered;
  renumbered.read = [](TensorId tensor, Idx indices) {
    return ScalarExpr::Read(3 * tensor, std::move(indices));
  };
  return Substitute(e, renumbered);
}

// Of expressions that WithValueTensors gave.
class Transformer {
 public:
  Bounded Of(const ScalarExpr& e) {
    auto it = done_.find(e.node().get());
    if (it != done_.end()) return it->second;
    Bounded result = Compute(e);
    done_.emplace(e.node().get(), result);
    return result;
  }

 private:
  Bounded Compute(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst: {
        const double x = e.value();
        const bool exact = static_cast<double>(static_cast<float>(x)) == x;
        return {e, std::abs(x), exact ? 0.0 : 1.0};
      }
      case ScalarExpr::Kind::kIndex:
        return {e, Abs(e), 0.0};
      case ScalarExpr::Kind::kRead:
        return {Read(e, 0), Read(e, 1), Read(e, 2)};
      case ScalarExpr::Kind::kApply:
        return Function(e);
      case ScalarExpr::Kind::kSelect: {
        const Bounded a = Of(e.args()[0]), b = Of(e.args()[1]);
        auto select = [&](const ScalarExpr& x, const ScalarExpr& y) {
          return ScalarExpr::Select(e.guard(), x, y);
        };
        return {select(a.value, b.value), select(a.magnitude, b.magnitude),
                select(a.roundings, b.roundings)};
      }
      case ScalarExpr::Kind::kReduce:
        return Reduction(e);
      case ScalarExpr::Kind::kParam:
        break;
    }
    return NoBound(e);
  }

  static ScalarExpr Read(const ScalarExpr& e, int part) {
    return ScalarExpr::Read(e.tensor() + part, e.indices());
  }
  static Bounded NoBound(const ScalarExpr& value) { return {value, Abs(value), kNoBound}; }

  Bounded Reduction(const ScalarExpr& e) {
    const Bounded body = Of(e.args()[0]);
    auto reduce = [&](ReduceKind kind, const ScalarExpr& x) {
      return ScalarExpr::Reduce(kind, e.axes(), e.guard(), x);
    };
    const ScalarExpr value = reduce(e.reduce(), body.value);
    const ScalarExpr most = Max(reduce(ReduceKind::kMax, body.roundings), 0.0);
    if (e.reduce() == ReduceKind::kSum) {
      const ScalarExpr terms = reduce(ReduceKind::kSum, ScalarExpr(1.0));
      return {value, reduce(ReduceKind::kSum, body.magnitude), most + terms};
    }
    if (e.reduce() == ReduceKind::kProd) return NoBound(value);
    const ScalarExpr low = reduce(e.reduce(), body.value - ErrorOf(body)),
                     high = reduce(e.reduce(), body.value + ErrorOf(body));
    return Between(value, low, high, most);
  }

  Bounded Function(const ScalarExpr& e) {
    std::vector<Bounded> x;
    std::vector<ScalarExpr> values;
    for (const ScalarExpr& arg : e.args()) {
      x.push_back(Of(arg));
      values.push_back(x.back().value);
    }
    const ScalarExpr value = ScalarExpr::Apply(e.fn(), values);
    switch (e.fn()) {
      case ScalarFn::kAdd:
      case ScalarFn::kSub:
        return {value, x[0].magnitude + x[1].magnitude, x[0].roundings + x[1].roundings + 1.0};
      case ScalarFn::kMul:
        return {value, x[0].magnitude * x[1].magnitude, x[0].roundings + x[1].roundings + 1.0};
      case ScalarFn::kDiv:
        // A product with the reciprocal: two roundings.
        return {value, x[0].magnitude / Abs(x[1].value),
                x[0].roundings + Roundings(RelativeError(x[1]), 1, 2)};
      case ScalarFn::kNeg:
      case ScalarFn::kAbs:
        return {value, x[0].magnitude, x[0].roundings};
      case ScalarFn::kMin:
      case ScalarFn::kMax: {
        auto at = [&](double sign) {
          return Apply(e.fn(), x[0].value + ScalarExpr(sign) * ErrorOf(x[0]),
                       x[1].value + ScalarExpr(sign) * ErrorOf(x[1]));
        };
        return Between(value, at(-1), at(1), Max(x[0].roundings, x[1].roundings));
      }
      case ScalarFn::kStoredF32:
        return {x[0].value, x[0].magnitude, x[0].roundings + 1.0};
      case ScalarFn::kSqrt:
        return {value, value, Roundings(RelativeError(x[0]), 0.5, 1)};
      case ScalarFn::kExp:
        return {
            value, value,
            Roundings(x[0].roundings * ScalarExpr(kUnit) * x[0].magnitude, 1, kFunctionRoundings)};
      case ScalarFn::kPow:
        if (e.args()[1].kind() != ScalarExpr::Kind::kConst) return NoBound(value);
        return {value, Abs(value),
                Roundings(RelativeError(x[0]), std::abs(e.args()[1].value()) * kSecondOrder,
                          kFunctionRoundings)};
      case ScalarFn::kErf:
      case ScalarFn::kTanh: {
        auto at = [&](double sign) {
          return Apply(e.fn(), x[0].value + ScalarExpr(sign) * ErrorOf(x[0]));
        };
        return Between(value, at(-1), at(1), kFunctionRoundings);
      }
      case ScalarFn::kSin:
      case ScalarFn::kCos:
        return Between(value, value - ErrorOf(x[0]), value + ErrorOf(x[0]), kFunctionRoundings);
      default:
        return NoBound(value);
    }
  }

  // The largest error of `x`, to first order; infinite if it has no bound.
  static ScalarExpr ErrorOf(const Bounded& x) {
    return x.roundings * ScalarExpr(kUnit * kSecondOrder) * x.magnitude;
  }

  // A value of which the error of the operands makes [low, high], and which is then rounded by an
  // operation that counts as so many roundings of the value. The magnitude makes that many
  // roundings of it cover both.
  static Bounded Between(const ScalarExpr& value, const ScalarExpr& low, const ScalarExpr& high,
                         const ScalarExpr& roundings) {
    const ScalarExpr error = Max(high - value, value - low);
    return {value, Abs(value) + error / (ScalarExpr(kUnit) * Max(roundings, 1.0)), roundings};
  }

  absl::flat_hash_map<const ScalarNode*, Bounded> done_;
};

}  // namespace

absl::StatusOr<Definition> BoundedDefinition(const Definition& definition) {
  auto unsupported = [](DType dtype) { return IsFloat(dtype) && dtype != DType::kF32; };
  Definition result;
  result.num_vars = definition.num_vars;
  for (const ExprType& input : definition.inputs) {
    if (unsupported(input.dtype)) return absl::UnimplementedError("not f32");
    for (int part = 0; part < 3; ++part) result.inputs.push_back({DType::kF64, input.dims});
  }
  Transformer transformer;
  std::vector<ScalarExpr> bodies;
  for (const TensorExpr& tensor : definition.tensors) {
    if (tensor.dtype != DType::kF32) return absl::UnimplementedError("not f32");
    bodies.push_back(WithValueTensors(tensor.body));  // the transformer knows them by address
    const Bounded body = transformer.Of(bodies.back());
    for (const ScalarExpr& part : {body.value, body.magnitude, body.roundings}) {
      result.tensors.push_back({DType::kF64, tensor.axes, part});
    }
  }
  for (TensorId output : definition.outputs) {
    for (int part = 0; part < 3; ++part) result.outputs.push_back(3 * output + part);
  }
  return result;
}

double BoundOf(double magnitude, double roundings) {
  const double relative = roundings * kUnit;
  if (!(relative <= kLargestRelative)) return kNoBound;
  if (relative == 0) return 0;
  // Numbers below the least normal one are rounded by less than the least positive one.
  return relative * kSecondOrder * magnitude + (roundings + 1) * 0x1p-149;
}

}  // namespace lemma::referee
