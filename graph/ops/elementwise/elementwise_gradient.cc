#include "graph/ops/elementwise/elementwise_gradient.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::ops {
namespace {

// Differentiates one application's definition with operators: builds the values of its
// subexpressions, and the gradient that reaches one input. Both are linear in size, since equal
// applications are one node.
class Differentiation {
 public:
  Differentiation(GradientBuilder& f, TensorId input) : f_(f), input_(input) {}

  // dy * d(body)/dx for the input x; empty if the body does not depend on it.
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
      default:  // operators have the names of the functions
        return f_.Op(Info(e.fn()).name, std::move(args));
    }
  }

  Value OfFunction(const ScalarExpr& e) {
    Value flows[3];
    bool any = false;
    for (size_t i = 0; i < e.args().size(); ++i) {
      flows[i] = Gradient(e.args()[i]);
      any = any || flows[i];
    }
    return any ? OfRow(e, flows[0], flows[1], flows[2]) : Value();
  }

  // da, db, dc: dy times the derivatives of the arguments, without the function's own derivatives.
  Value OfRow(const ScalarExpr& e, const Value& da, [[maybe_unused]] const Value& db,
              [[maybe_unused]] const Value& dc) {
    GradientBuilder& f = f_;
    auto a = [&] { return ValueOf(e.args()[0]); };
    auto b = [&] { return ValueOf(e.args()[1]); };
    auto y = [&] { return ValueOf(e); };
    switch (e.fn()) {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  case ScalarFn::id:                                                      \
    return gradient;
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) \
  case ScalarFn::id:                                                  \
    return gradient;
#define LEMMA_STORED_FN(id, name, traits, dtype) \
  case ScalarFn::id:                             \
    return Value();
#include "graph/expr/scalar_functions.inc"
    }
    return Value();
  }

  Value One() { return f_.Scalar(f_.node().type(0).dtype, 1); }
  Value Root(const Value& square) { return f_.Op("sqrt", {square}); }
  Value Truncated(const Value& x) {
    const Value negative = f_.Op("less", {x, f_.Scalar(x.dtype(), 0)});
    return f_.Op("where", {negative, f_.Op("ceil", {x}), f_.Op("floor", {x})});
  }

  // max(a, b) is a where b < a, and min(a, b) is a where a < b. If b is a number, this equals b <
  // max(a, b) and min(a, b) < b, which do not need to keep a.
  Value OfExtreme(const ScalarExpr& e, const Value& da, const Value& db) {
    return OfExtreme(e, e.args()[0], e.args()[1], da, db);
  }
  Value OfExtreme(const ScalarExpr& e, const ScalarExpr& a, const ScalarExpr& b, const Value& da,
                  const Value& db) {
    if (a.kind() == ScalarExpr::Kind::kConst) return OfExtreme(e, b, a, db, da);
    const bool number = b.kind() == ScalarExpr::Kind::kConst && &e == body_;
    const Value x = ValueOf(number ? e : a), bound = ValueOf(b);
    const bool max = e.fn() == ScalarFn::kMax;
    return f_.Where(
        f_.Op("less", max ? std::vector<Value>{bound, x} : std::vector<Value>{x, bound}), da, db);
  }

  // a^b: da * b * a^(b-1) + db * a^b * ln(a); the second term is 0 at a = 0.
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

  GradientBuilder& f_;
  const TensorId input_;
  const ScalarExpr* body_ = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<Value>> ElementwiseGradient(GradientBuilder& f) {
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
    std::function<Value(GradientBuilder& f, const Value& x, const Value& y, const Value& dy)> dx) {
  return [dx = std::move(dx)](GradientBuilder& f) {
    return std::vector<Value>{dx(f, f.Input(0), f.Output(), f.ResultGradient())};
  };
}

absl::StatusOr<std::vector<Value>> ZeroGradient(GradientBuilder& f) {
  return std::vector<Value>(f.num_inputs());
}

}  // namespace lemma::ops
