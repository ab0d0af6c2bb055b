// Derivatives of scalar functions, from the table scalar_functions.inc.
#ifndef LEMMA_GRAPH_EXPR_DERIVATIVES_H_
#define LEMMA_GRAPH_EXPR_DERIVATIVES_H_

#include <cmath>
#include <vector>

#include "graph/expr/scalar_expr.h"

namespace lemma {

// Builds derivatives of function applications. The derivatives are values of type V; an object of
// type F, the formula, computes with such values. There are two such types F: one builds operators
// of a graph (graph/ops/formula.h), the other builds scalar expressions (graph/define/adjoint.cc).
// An empty V, which V() makes, stands for zero.
//
// F has the functions Add, Sub, Mul, Div, Neg, Square, Where, Op(name, operands) and Uniform of
// lemma::Formula. Self is a class that derives from Derivatives and has the functions
//   V ValueOf(const ScalarExpr& e)               the value of e
//   V Number(const V& like, double number)       a number of the type of `like`
//   V One()                                      the number 1 of the result's type
//   bool IsResult(const ScalarExpr& e)           whether ValueOf(e) is a result that exists already
template <class Self, class F, class V>
class Derivatives {
 public:
  explicit Derivatives(F& formula) : formula_(formula) {}

  // df/da * da + df/db * db + df/dc * dc for an application e = f(a, b, c), by the row of f in the
  // table. `da` is the gradient of e times the derivative of the argument a with respect to the
  // input whose gradient is wanted; likewise `db` and `dc`.
  V OfRow(const ScalarExpr& e, const V& da, [[maybe_unused]] const V& db,
          [[maybe_unused]] const V& dc) {
    using Value = V;
    F& f = formula_;
    auto a = [&] { return self().ValueOf(e.args()[0]); };
    auto b = [&] { return self().ValueOf(e.args()[1]); };
    auto y = [&] { return self().ValueOf(e); };
    auto One = [&] { return self().One(); };
    switch (e.fn()) {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  case ScalarFn::id:                                                      \
    return gradient;
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) \
  case ScalarFn::id:                                                  \
    return gradient;
#define LEMMA_STORED_FN(id, name, traits, dtype) \
  case ScalarFn::id:                             \
    return V();
#include "graph/expr/scalar_functions.inc"
    }
    return V();
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  V Root(const V& square) { return formula_.Op("sqrt", {square}); }
  V Truncated(const V& x) {
    const V negative = formula_.Op("less", {x, self().Number(x, 0)});
    return formula_.Op("where", {negative, formula_.Op("ceil", {x}), formula_.Op("floor", {x})});
  }

  // The gradient of max(a, b) goes to a where b < a, the gradient of min(a, b) goes to a where
  // a < b; elsewhere the gradient goes to b. If a is a number, a and b change places first. If b is
  // a number and the result exists already, the tests read the result instead of a: b < max(a, b)
  // and min(a, b) < b. So a need not be kept.
  V OfExtreme(const ScalarExpr& e, const V& da, const V& db) {
    return OfExtreme(e, e.args()[0], e.args()[1], da, db);
  }
  V OfExtreme(const ScalarExpr& e, const ScalarExpr& a, const ScalarExpr& b, const V& da,
              const V& db) {
    if (a.kind() == ScalarExpr::Kind::kConst) return OfExtreme(e, b, a, db, da);
    const bool number = b.kind() == ScalarExpr::Kind::kConst && self().IsResult(e);
    const V x = self().ValueOf(number ? e : a), bound = self().ValueOf(b);
    const bool max = e.fn() == ScalarFn::kMax;
    return formula_.Where(
        formula_.Op("less", max ? std::vector<V>{bound, x} : std::vector<V>{x, bound}), da, db);
  }

  // a^b: da * b * a^(b-1) + db * a^b * ln(a); the second term is 0 at a = 0.
  V OfPower(const ScalarExpr& e, const V& da, const V& db) {
    const V a = self().ValueOf(e.args()[0]), b = self().ValueOf(e.args()[1]);
    V sum;
    if (da) {
      const auto exponent = F::Uniform(b);
      const V rest = exponent == 2.0   ? a
                     : exponent == 3.0 ? formula_.Square(a)
                                       : formula_.Op("pow", {a, formula_.Add(b, -1)});
      sum = formula_.Mul(formula_.Mul(da, b), rest);
      if (exponent == 1.0) sum = da;
    }
    if (db) {
      const V term = formula_.Mul(formula_.Mul(db, self().ValueOf(e)), formula_.Op("log", {a}));
      const V at_zero = formula_.Op("equal", {a, self().Number(a, 0)});
      sum = formula_.Add(sum, formula_.Where(at_zero, V(), term));
    }
    return sum;
  }

  F& formula_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_DERIVATIVES_H_
