#include "verifier/refutation/unroll.h"

#include <utility>

#include "graph/expr/substitute.h"

namespace lemma::prover {
namespace {

class Unroller {
 public:
  explicit Unroller(int max_terms) : left_(max_terms) {}

  bool failed() const { return left_ < 0; }

  ScalarExpr Run(const ScalarExpr& e) {
    if (failed()) return e;
    switch (e.kind()) {
      case ScalarExpr::Kind::kApply: {
        std::vector<ScalarExpr> args;
        for (const ScalarExpr& arg : e.args()) args.push_back(Run(arg));
        return ScalarExpr::Apply(e.fn(), std::move(args));
      }
      case ScalarExpr::Kind::kSelect:
        return ScalarExpr::Select(e.guard(), Run(e.args()[0]), Run(e.args()[1]));
      case ScalarExpr::Kind::kReduce:
        if (e.reduce() == ReduceKind::kSum || e.reduce() == ReduceKind::kProd) return WrittenOut(e);
        return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), Run(e.args()[0]));
      default:
        return e;
    }
  }

 private:
  ScalarExpr WrittenOut(const ScalarExpr& e) {
    const bool sum = e.reduce() == ReduceKind::kSum;
    ScalarExpr result(sum ? 0 : 1);
    bool first = true;
    ExprSubstitution at;
    AtEachPoint(e, 0, &at, [&] {
      const Guard guard = Substitute(e.guard(), at);
      ScalarExpr term = Run(Substitute(e.args()[0], at));
      if (!guard.is_true()) term = ScalarExpr::Select(guard, term, ScalarExpr(sum ? 0 : 1));
      result = first ? term : sum ? result + term : result * term;
      first = false;
    });
    return result;
  }

  template <class Visit>
  void AtEachPoint(const ScalarExpr& e, size_t axis, ExprSubstitution* at, const Visit& visit) {
    if (axis == e.axes().size()) {
      if (--left_ >= 0) visit();
      return;
    }
    const IndexExpr extent = Substitute(e.axes()[axis].extent, *at);
    if (!extent.is_const()) left_ = -1;
    for (int64_t i = 0; !failed() && i < extent.value(); ++i) {
      at->vars[e.axes()[axis].var] = i;
      AtEachPoint(e, axis + 1, at, visit);
    }
    at->vars.erase(e.axes()[axis].var);
  }

  int left_;
};

}  // namespace

std::optional<Definition> Unrolled(const Definition& definition, int max_terms) {
  Definition result = definition;
  Unroller unroller(max_terms);
  for (TensorExpr& tensor : result.tensors) tensor.body = unroller.Run(tensor.body);
  if (unroller.failed()) return std::nullopt;
  return result;
}

}  // namespace lemma::prover
