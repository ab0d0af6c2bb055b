#include "graph/ops/elementwise/elementwise_gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/expr/derivatives.h"

namespace lemma::ops {
namespace {

// Differentiates one application's definition with operators: builds the values of its
// subexpressions, and the gradient that reaches one input. Both are linear in size, since equal
// applications are one node.
class Differentiation : private Derivatives<Differentiation, GradientBuilder, Value> {
 public:
  Differentiation(GradientBuilder& f, TensorId input) : Derivatives(f), f_(f), input_(input) {}

  // dy * d(body)/dx for the input x; empty if the body does not depend on it.
  Value OfBody(const ScalarExpr& body) {
    body_ = &body;
    return Gradient(body);
  }

 private:
  friend Derivatives;

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

  Value Number(const Value& like, double number) { return f_.Scalar(like.dtype(), number); }
  Value One() { return f_.Scalar(f_.node().type(0).dtype, 1); }
  bool IsResult(const ScalarExpr& e) const { return &e == body_; }

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
