#include "graph/define/linear.h"

#include "graph/expr/free_vars.h"

namespace lemma::define {

std::optional<Linear> LinearIn(const IndexExpr& e, VarId var) {
  switch (e.kind()) {
    case IndexExpr::Kind::kVar:
      if (e.var() == var) return Linear{1, 0};
      return Linear{0, e};
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul: {
      const auto a = LinearIn(e.lhs(), var), b = LinearIn(e.rhs(), var);
      if (!a || !b) return std::nullopt;
      if (e.kind() == IndexExpr::Kind::kAdd)
        return Linear{a->factor + b->factor, a->rest + b->rest};
      const bool left = a->factor.AsConst() == 0, right = b->factor.AsConst() == 0;
      if (right) return Linear{a->factor * b->rest, a->rest * b->rest};
      if (left) return Linear{a->rest * b->factor, a->rest * b->rest};
      return std::nullopt;
    }
    default: {
      FreeVars free;
      if (Contains(free.Of(e), var)) return std::nullopt;
      return Linear{0, e};
    }
  }
}

}  // namespace lemma::define
