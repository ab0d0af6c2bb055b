#include "graph/ops/elementwise/elementwise_gradient.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::ops {
namespace {

// One application's definition, as operators: values of its subexpressions, and what dy becomes on
// the way to one input. Both are linear in size, since equal applications are one node.
class Differentiation {
 public:
  Differentiation(GradientForm& f, TensorId input) : f_(f), input_(input) {}

  // dy * d(body)/dx, x being the input; empty if the definition's body does not depend on it.
  Value OfBody(const ScalarExpr& body) {
    body_ = &body;
    return Gradient(body);
  }

 private:
  // dy * de/dx.
  Value Gradient(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kRead:
        return e.tensor() == input_ ? f_.ResultGradient() : Value();
      case ScalarExpr::Kind::kApply:
        return OfFunction(e);
      case ScalarExpr::Kind::kConst:
        return Value();
      default:
        f_.Fail(absl::InternalError(absl::StrCat("not element-wise: ", e.ToString())));
        return Value();
    }
  }

  Value ValueOf(const ScalarExpr& e) {
    if (&e == body_) return f_.Output();
    switch (e.kind()) {
      case ScalarExpr::Kind::kRead:
        return f_.Input(e.tensor());
      case ScalarExpr::Kind::kConst:
        return f_.Scalar(f_.node().type(0).dtype, e.value());
      case ScalarExpr::Kind::kApply:
        break;
      default:
        f_.Fail(absl::InternalError(absl::StrCat("not element-wise: ", e.ToString())));
        return Value();
    }
    std::vector<Value> args;
    for (const ScalarExpr& arg : e.args()) args.push_back(ValueOf(arg));
    switch (e.fn()) {
      case ScalarFn::kAdd:
        return f_.Add(args[0], args[1]);
      case ScalarFn::kSub:
        return f_.Sub(args[0], args[1]);
      case ScalarFn::kMul:
        return f_.Mul(args[0], args[1]);
      case ScalarFn::kDiv:
        return f_.Div(args[0], args[1]);
      case ScalarFn::kNeg:
        return f_.Neg(args[0]);
      default:  // the operators are named like the functions
        return f_.Op(Info(e.fn()).name, std::move(args));
    }
  }

  Value OfFunction(const ScalarExpr& e) {
    const std::vector<ScalarExpr>& args = e.args();
    if (Info(e.fn()).arity == 1) {
      const Value du = Gradient(args[0]);
      return du ? OfUnary(e, du, ValueOf(args[0])) : Value();
    }
    if (e.fn() == ScalarFn::kWhere) {
      const Value da = Gradient(args[1]), db = Gradient(args[2]);
      return da || db ? f_.Where(ValueOf(args[0]), da, db) : Value();
    }
    const Value da = Gradient(args[0]), db = Gradient(args[1]);
    return da || db ? OfBinary(e, da, db) : Value();
  }

  // f(u), where du = dy * du/dx.
  Value OfUnary(const ScalarExpr& e, const Value& du, const Value& u) {
    auto y = [&] { return ValueOf(e); };
    auto one = [&] { return f_.Scalar(u.dtype(), 1); };
    auto root = [&](const Value& square) { return f_.Op("sqrt", {square}); };
    switch (e.fn()) {
      case ScalarFn::kNeg:
        return f_.Neg(du);
      case ScalarFn::kAbs:
        return f_.Mul(du, f_.Op("sign", {u}));
      case ScalarFn::kExp:  // e^u
        return f_.Mul(du, y());
      case ScalarFn::kLog:  // 1 / u
        return f_.Div(du, u);
      case ScalarFn::kSqrt:  // 1 / 2y
        return f_.Div(f_.Mul(du, 0.5), y());
      case ScalarFn::kErf:  // 2/√π e^(-u²)
        return f_.Mul(f_.Mul(du, 1 / std::sqrt(std::atan(1.0))),
                      f_.Op("exp", {f_.Neg(f_.Square(u))}));
      case ScalarFn::kSin:
        return f_.Mul(du, f_.Op("cos", {u}));
      case ScalarFn::kCos:
        return f_.Neg(f_.Mul(du, f_.Op("sin", {u})));
      case ScalarFn::kTan:  // 1 + y²
        return f_.Mul(du, f_.Add(f_.Square(y()), 1));
      case ScalarFn::kAsin:  // 1 / √(1 - u²)
        return f_.Div(du, root(f_.Sub(one(), f_.Square(u))));
      case ScalarFn::kAcos:  // -1 / √(1 - u²)
        return f_.Neg(f_.Div(du, root(f_.Sub(one(), f_.Square(u)))));
      case ScalarFn::kAtan:  // 1 / (1 + u²)
        return f_.Div(du, f_.Add(f_.Square(u), 1));
      case ScalarFn::kSinh:
        return f_.Mul(du, f_.Op("cosh", {u}));
      case ScalarFn::kCosh:
        return f_.Mul(du, f_.Op("sinh", {u}));
      case ScalarFn::kTanh:  // 1 - y²
        return f_.Mul(du, f_.Sub(one(), f_.Square(y())));
      case ScalarFn::kAsinh:  // 1 / √(u² + 1)
        return f_.Div(du, root(f_.Add(f_.Square(u), 1)));
      case ScalarFn::kAcosh:  // 1 / √(u² - 1)
        return f_.Div(du, root(f_.Add(f_.Square(u), -1)));
      case ScalarFn::kAtanh:  // 1 / (1 - u²)
        return f_.Div(du, f_.Sub(one(), f_.Square(u)));
      default:  // steps and tests: constant wherever there is a derivative
        return Value();
    }
  }

  Value OfBinary(const ScalarExpr& e, const Value& da, const Value& db) {
    const ScalarExpr &a = e.args()[0], &b = e.args()[1];
    switch (e.fn()) {
      case ScalarFn::kAdd:
        return f_.Add(da, db);
      case ScalarFn::kSub:
        return f_.Sub(da, db);
      case ScalarFn::kMul:
        return f_.Add(da ? f_.Mul(da, ValueOf(b)) : da, db ? f_.Mul(db, ValueOf(a)) : db);
      case ScalarFn::kDiv: {  // da / b - db * y / b
        const Value numerator = db ? f_.Sub(da, f_.Mul(db, ValueOf(e))) : da;
        return f_.Div(numerator, ValueOf(b));
      }
      case ScalarFn::kMax:
        return OfExtreme(e, a, b, da, db);
      case ScalarFn::kMin:
        return OfExtreme(e, a, b, da, db);
      case ScalarFn::kPow:
        return OfPower(e, da, db);
      case ScalarFn::kMod:  // a - b * floor(a / b)
        return f_.Sub(da, db ? f_.Mul(db, f_.Op("floor", {Quotient(a, b)})) : db);
      case ScalarFn::kFmod: {  // a - b * trunc(a / b)
        if (!db) return da;
        const Value q = Quotient(a, b);
        const Value negative = f_.Op("less", {q, f_.Scalar(q.dtype(), 0)});
        return f_.Sub(
            da, f_.Mul(db, f_.Op("where", {negative, f_.Op("ceil", {q}), f_.Op("floor", {q})})));
      }
      default:  // tests
        return Value();
    }
  }

  Value Quotient(const ScalarExpr& a, const ScalarExpr& b) {
    return f_.Div(ValueOf(a), ValueOf(b));
  }

  // max(a, b) is a where b < a, and min(a, b) where a < b. If b is a number, these are where
  // b < max(a, b) and min(a, b) < b, which need not keep a.
  Value OfExtreme(const ScalarExpr& e, const ScalarExpr& a, const ScalarExpr& b, const Value& da,
                  const Value& db) {
    if (a.kind() == ScalarExpr::Kind::kConst) return OfExtreme(e, b, a, db, da);
    const bool number = b.kind() == ScalarExpr::Kind::kConst && &e == body_;
    const Value x = ValueOf(number ? e : a), bound = ValueOf(b);
    const bool max = e.fn() == ScalarFn::kMax;
    return f_.Where(
        f_.Op("less", max ? std::vector<Value>{bound, x} : std::vector<Value>{x, bound}), da, db);
  }

  // a^b: da * b * a^(b-1) + db * a^b * ln(a), the second term 0 at a = 0.
  Value OfPower(const ScalarExpr& e, const Value& da, const Value& db) {
    const Value a = ValueOf(e.args()[0]), b = ValueOf(e.args()[1]);
    Value sum;
    if (da) {
      const auto exponent = Formula::Uniform(b);
      const Value rest = exponent == 2.0   ? a
                         : exponent == 3.0 ? f_.Square(a)
                                           : f_.Op("pow", {a, f_.Add(b, -1)});
      sum = f_.Mul(f_.Mul(da, b), rest);
      if (exponent == 1.0) sum = da;
    }
    if (db) {
      const Value term = f_.Mul(f_.Mul(db, ValueOf(e)), f_.Op("log", {a}));
      const Value at_zero = f_.Op("equal", {a, f_.Scalar(a.dtype(), 0)});
      sum = f_.Add(sum, f_.Where(at_zero, Value(), term));
    }
    return sum;
  }

  GradientForm& f_;
  const TensorId input_;
  const ScalarExpr* body_ = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<Value>> ElementwiseGradient(GradientForm& f) {
  LEMMA_ASSIGN_OR_RETURN(const Definition definition, DefinitionOf(f.node()));
  const TensorExpr& result = definition.tensors[definition.outputs[0] - definition.num_inputs()];
  std::vector<Value> gradients;
  for (int i = 0; i < f.num_inputs(); ++i) {
    const Value dx = Differentiation(f, i).OfBody(result.body);
    gradients.push_back(f.SumTo(dx, f.Input(i).shape()));
  }
  return gradients;
}

Gradient StatedGradient(
    std::function<Value(GradientForm& f, const Value& x, const Value& y, const Value& dy)> dx) {
  return [dx = std::move(dx)](GradientForm& f) {
    return std::vector<Value>{dx(f, f.Input(0), f.Output(), f.ResultGradient())};
  };
}

absl::StatusOr<std::vector<Value>> ZeroGradient(GradientForm& f) {
  return std::vector<Value>(f.num_inputs());
}

}  // namespace lemma::ops
