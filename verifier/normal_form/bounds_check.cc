#include "verifier/normal_form/bounds_check.h"

#include "absl/strings/str_cat.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

using Env = std::map<VarId, Poly>;

class Checker {
 public:
  Checker(NormalForms* forms, Arith* arith, const Definition& definition, const LeafMap& symbols)
      : leaves_(forms->leaves()),
        arith_(*arith),
        definition_(definition),
        builder_(forms, definition, Laws::kNone, symbols) {}

  std::string Run(const Facts& facts) {
    for (const TensorExpr& tensor : definition_.tensors) {
      Env env;
      Facts here = facts;
      for (const Axis& axis : tensor.axes) Bind(axis, &env, &here);
      Check(tensor.body, env, here);
      if (!problem_.empty()) return problem_;
    }
    return builder_.error();
  }

 private:
  void Bind(const Axis& axis, Env* env, Facts* facts) {
    Check(axis.extent, *env, *facts);
    const Poly extent = builder_.Index(axis.extent, *env);
    const Poly var = Poly::Of(leaves_.NewVar("i"));
    (*env)[axis.var] = var;
    facts->push_back(Fact::Ge(var));
    facts->push_back(Fact::Ge(extent - 1 - var));
  }

  void Check(const IndexExpr& e, const Env& env, const Facts& facts) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return;
      case IndexExpr::Kind::kLoad:
        Check(ScalarExpr(e.load()), env, facts);
        return;
      default:
        break;
    }
    Check(e.lhs(), env, facts);
    Check(e.rhs(), env, facts);
    if (e.kind() != IndexExpr::Kind::kFloorDiv && e.kind() != IndexExpr::Kind::kMod) return;
    if (!arith_.Positive(facts, Simple(builder_.Index(e.rhs(), env), facts), Effort::kFull)) {
      Problem(absl::StrCat("the divisor ", e.rhs().ToString(), " is positive"));
    }
  }

  void Check(const Guard& g, const Env& env, const Facts& facts) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        return;
      case Guard::Kind::kLe:
      case Guard::Kind::kEq:
        Check(g.lhs(), env, facts);
        Check(g.rhs(), env, facts);
        return;
      case Guard::Kind::kNot:
        Check(g.left(), env, facts);
        return;
      default:
        Check(g.left(), env, facts);
        Check(g.right(), env, facts);
    }
  }

  bool Holds(const Fact& fact, const Facts& facts) {
    return arith_.Implied(facts, fact) ||
           arith_.Implied(facts, arith_.SimplifyFact(facts, fact), Effort::kFull) ||
           arith_.Unsatisfiable(facts);
  }

  Poly Simple(const Poly& p, const Facts& facts) { return arith_.SimplifyDivs(facts, p); }

  void Check(const ScalarExpr& e, const Env& env, const Facts& facts) {
    if (!problem_.empty()) return;
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      case ScalarExpr::Kind::kIndex:
        Check(e.index(), env, facts);
        return;
      case ScalarExpr::Kind::kRead: {
        const ExprType type = definition_.TypeOf(e.tensor());
        for (size_t d = 0; d < e.indices().size(); ++d) {
          Check(e.indices()[d], env, facts);
          if (e.indices()[d].kind() == IndexExpr::Kind::kLoad) continue;
          const Poly i = Simple(builder_.Index(e.indices()[d], env), facts);
          const Poly size = Simple(builder_.Index(type.dims[d], {}), facts);
          if (!Holds(Fact::Ge(i), facts) || !Holds(Fact::Ge(size - 1 - i), facts)) {
            Problem(absl::StrCat("the read ", e.ToString(), " is inside dimension ", d, " of size ",
                                 type.dims[d].ToString()));
          }
        }
        return;
      }
      case ScalarExpr::Kind::kApply:
        for (const ScalarExpr& arg : e.args()) Check(arg, env, facts);
        return;
      case ScalarExpr::Kind::kSelect:
        Check(e.guard(), env, facts);
        for (int branch = 0; branch < 2; ++branch) {
          for (const Facts& more : builder_.Cases(e.guard(), branch == 0, env)) {
            const Facts here = With(facts, more);
            if (!arith_.Unsatisfiable(here)) Check(e.args()[branch], env, here);
          }
        }
        return;
      case ScalarExpr::Kind::kReduce: {
        Env inner = env;
        Facts here = facts;
        for (const Axis& axis : e.axes()) Bind(axis, &inner, &here);
        Check(e.guard(), inner, here);
        for (const Facts& more : builder_.Cases(e.guard(), true, inner)) {
          Check(e.args()[0], inner, With(here, more));
        }
        return;
      }
    }
  }

  void Problem(std::string what) {
    if (problem_.empty()) problem_ = absl::StrCat("could not prove that ", what);
  }

  Leaves& leaves_;
  Arith& arith_;
  const Definition& definition_;
  FormBuilder builder_;
  std::string problem_;
};

}  // namespace

std::string UnprovedRead(NormalForms* forms, Arith* arith, const Definition& definition,
                         const LeafMap& symbols, const Facts& facts) {
  return Checker(forms, arith, definition, symbols).Run(facts);
}

}  // namespace lemma::prover
