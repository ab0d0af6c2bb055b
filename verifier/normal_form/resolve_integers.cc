#include "verifier/normal_form/resolve_integers.h"

#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "graph/expr/substitute.h"
#include "verifier/normal_form/path_condition.h"
#include "verifier/normal_form/storage.h"

namespace lemma::prover {
namespace {

constexpr int kMaxSteps = 50000;

bool HoldsLoad(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
    case IndexExpr::Kind::kVar:
      return false;
    case IndexExpr::Kind::kLoad:
      return true;
    default:
      return HoldsLoad(e.lhs()) || HoldsLoad(e.rhs());
  }
}

bool IsComparison(ScalarFn fn) {
  return fn == ScalarFn::kNot || fn == ScalarFn::kAnd || fn == ScalarFn::kOr ||
         fn == ScalarFn::kLess || fn == ScalarFn::kEqual;
}

// Evaluates an expression with unknown integers. At a comparison, the result is a Select of the
// results for both answers. `then` receives the path condition and the value.
class Resolver {
 public:
  explicit Resolver(const Definition& definition) : original_(definition), result_(definition) {}

  Definition Run(bool* reads_at_data) {
    for (size_t i = 0; i < result_.tensors.size(); ++i) {
      memo_.clear();
      result_.tensors[i].body = Scalar(original_.tensors[i].body, PathCondition());
    }
    // Beyond the limit, not all reads were seen.
    *reads_at_data |= reads_at_data_ || steps_ > kMaxSteps;
    if (steps_ > kMaxSteps) return original_;
    return result_;
  }

 private:
  using Result = std::optional<ScalarExpr>;  // nullopt: not known to be an integer
  using ThenInteger = std::function<ScalarExpr(const PathCondition&, const IndexExpr&)>;
  using ThenTruth = std::function<ScalarExpr(const PathCondition&, bool)>;

  Result Integer(const ScalarExpr& e, const PathCondition& path, const ThenInteger& then);
  Result IntegerFn(const ScalarExpr& e, const PathCondition& path, const ThenInteger& then);
  Result Quotient(const ScalarExpr& e, const PathCondition& path, const ThenInteger& then);
  // Whether the value is not 0.
  Result Truth(const ScalarExpr& e, const PathCondition& path, const ThenTruth& then);
  Result Comparison(const ScalarExpr& e, const PathCondition& path, const ThenTruth& then);
  ScalarExpr Index(const IndexExpr& e, const PathCondition& path, const ThenInteger& then);
  ScalarExpr Branch(const IndexExpr& e, bool equal, const PathCondition& path,
                    const ThenTruth& then);
  ScalarExpr Branch(const Guard& guard, const PathCondition& path, const ThenTruth& then);

  ScalarExpr Scalar(const ScalarExpr& e, const PathCondition& path);
  ScalarExpr Rebuilt(const ScalarExpr& e, const PathCondition& path);
  ScalarExpr Read(const ScalarExpr& e, Idx done, const PathCondition& path);

  ScalarExpr BodyAt(const ScalarExpr& read);
  bool IsInput(TensorId id) const { return id < original_.num_inputs(); }
  const TensorExpr& Local(const ScalarExpr& read) const {
    return original_.tensors[read.tensor() - original_.num_inputs()];
  }

  const Definition& original_;
  Definition result_;
  int steps_ = 0;
  bool reads_at_data_ = false;
  // By node, for an empty path condition. Keeps the expressions, so that no other gets their
  // address.
  std::unordered_map<const ScalarNode*, std::pair<ScalarExpr, ScalarExpr>> memo_;
};

ScalarExpr Resolver::BodyAt(const ScalarExpr& read) {
  const TensorExpr& local = Local(read);
  ExprSubstitution at;
  at.fresh = &result_.num_vars;
  for (size_t d = 0; d < local.axes.size(); ++d) at.vars[local.axes[d].var] = read.indices()[d];
  return Substitute(local.body, at);
}

// Branches on e = 0 or e >= 0.
ScalarExpr Resolver::Branch(const IndexExpr& e, bool equal, const PathCondition& path,
                            const ThenTruth& then) {
  if (++steps_ > kMaxSteps) return 0;
  if (auto known = path.Decide(e, equal)) return then(path, *known);
  ScalarExpr yes = then(path.With(e, equal, true), true);
  ScalarExpr no = then(path.With(e, equal, false), false);
  return ScalarExpr::Select(equal ? Eq(e, 0) : Ge(e, 0), std::move(yes), std::move(no));
}

ScalarExpr Resolver::Branch(const Guard& guard, const PathCondition& path, const ThenTruth& then) {
  switch (guard.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return then(path, guard.is_true());
    case Guard::Kind::kLe:
      return Branch(guard.rhs() - guard.lhs(), false, path, then);
    case Guard::Kind::kEq:
      return Branch(guard.lhs() - guard.rhs(), true, path, then);
    case Guard::Kind::kNot:
      return Branch(guard.left(), path,
                    [&](const PathCondition& p, bool holds) { return then(p, !holds); });
    case Guard::Kind::kAnd:
    case Guard::Kind::kOr:
      break;
  }
  const bool any = guard.kind() == Guard::Kind::kOr;
  return Branch(guard.left(), path, [&](const PathCondition& p, bool holds) {
    return holds == any ? then(p, holds) : Branch(guard.right(), p, then);
  });
}

// trunc(a / b) for a constant b > 0.
Resolver::Result Resolver::Quotient(const ScalarExpr& e, const PathCondition& path,
                                    const ThenInteger& then) {
  if (e.kind() != ScalarExpr::Kind::kApply || e.fn() != ScalarFn::kDiv) return std::nullopt;
  const ScalarExpr& b = e.args()[1];
  if (b.kind() != ScalarExpr::Kind::kConst || b.value() < 1 || b.value() > 1e15 ||
      b.value() != std::floor(b.value())) {
    return std::nullopt;
  }
  const IndexExpr divisor = static_cast<int64_t>(b.value());
  return Integer(e.args()[0], path, [&](const PathCondition& p, const IndexExpr& a) {
    return Branch(a, false, p, [&](const PathCondition& q, bool positive) {
      return then(q, positive ? FloorDiv(a, divisor) : -FloorDiv(-a, divisor));
    });
  });
}

Resolver::Result Resolver::IntegerFn(const ScalarExpr& e, const PathCondition& path,
                                     const ThenInteger& then) {
  const std::vector<ScalarExpr>& args = e.args();
  auto two = [&](const std::function<IndexExpr(const IndexExpr&, const IndexExpr&)>& f) -> Result {
    bool failed = false;
    Result result =
        Integer(args[0], path, [&](const PathCondition& p, const IndexExpr& a) -> ScalarExpr {
          Result inner = Integer(args[1], p, [&](const PathCondition& q, const IndexExpr& b) {
            return then(q, f(a, b));
          });
          failed |= !inner;
          return inner ? *inner : ScalarExpr(0);
        });
    return failed ? std::nullopt : result;
  };
  using I = const IndexExpr&;
  switch (e.fn()) {
    case ScalarFn::kAdd:
      return two([](I a, I b) { return a + b; });
    case ScalarFn::kSub:
      return two([](I a, I b) { return a - b; });
    case ScalarFn::kMul:
      return two([](I a, I b) { return a * b; });
    case ScalarFn::kMin:
      return two([](I a, I b) { return Min(a, b); });
    case ScalarFn::kMax:
      return two([](I a, I b) { return Max(a, b); });
    case ScalarFn::kMod:
      if (args[1].kind() != ScalarExpr::Kind::kConst || args[1].value() < 1) return std::nullopt;
      return two([](I a, I b) { return Mod(a, b); });
    case ScalarFn::kNeg:
      return Integer(args[0], path, [&](const PathCondition& p, I a) { return then(p, -a); });
    case ScalarFn::kTrunc:
      if (Result quotient = Quotient(args[0], path, then)) return quotient;
      return Integer(args[0], path, then);
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
      return Integer(args[0], path, then);
    case ScalarFn::kWhere: {
      bool failed = false;
      Result result = Truth(args[0], path, [&](const PathCondition& p, bool holds) -> ScalarExpr {
        Result inner = Integer(args[holds ? 1 : 2], p, then);
        failed |= !inner;
        return inner ? *inner : ScalarExpr(0);
      });
      return failed ? std::nullopt : result;
    }
    default:
      return Comparison(e, path,
                        [&](const PathCondition& p, bool holds) { return then(p, holds ? 1 : 0); });
  }
}

Resolver::Result Resolver::Integer(const ScalarExpr& e, const PathCondition& path,
                                   const ThenInteger& then) {
  if (++steps_ > kMaxSteps) return std::nullopt;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      if (e.value() != std::floor(e.value()) || std::abs(e.value()) > 1e15) return std::nullopt;
      return then(path, static_cast<int64_t>(e.value()));
    case ScalarExpr::Kind::kIndex:
      return Index(e.index(), path, then);
    case ScalarExpr::Kind::kRead:
      if (!IsInput(e.tensor())) {
        // A value that storing may change is not resolved.
        if (!IntegerStorage(original_, Local(e)).empty()) {
          return then(path, IndexExpr::Load(e.node()));
        }
        return Integer(BodyAt(e), path, then);
      }
      if (IsFloat(original_.TypeOf(e.tensor()).dtype)) return std::nullopt;
      return then(path, IndexExpr::Load(e.node()));
    case ScalarExpr::Kind::kApply:
      return IntegerFn(e, path, then);
    case ScalarExpr::Kind::kSelect: {
      bool failed = false;
      ScalarExpr result =
          Branch(e.guard(), path, [&](const PathCondition& p, bool holds) -> ScalarExpr {
            Result inner = Integer(e.args()[holds ? 0 : 1], p, then);
            failed |= !inner;
            return inner ? *inner : ScalarExpr(0);
          });
      return failed ? std::nullopt : Result(result);
    }
    default:
      return std::nullopt;
  }
}

// For a function whose value is 0 or 1.
Resolver::Result Resolver::Comparison(const ScalarExpr& e, const PathCondition& path,
                                      const ThenTruth& then) {
  const std::vector<ScalarExpr>& args = e.args();
  bool failed = false;
  auto or_fail = [&](Result result) {
    failed |= !result;
    return result ? *result : ScalarExpr(0);
  };
  Result result;
  switch (e.fn()) {
    case ScalarFn::kNot:
      return Truth(args[0], path,
                   [&](const PathCondition& p, bool holds) { return then(p, !holds); });
    case ScalarFn::kAnd:
    case ScalarFn::kOr:
      result = Truth(args[0], path, [&](const PathCondition& p, bool holds) {
        if (holds == (e.fn() == ScalarFn::kOr)) return then(p, holds);
        return or_fail(Truth(args[1], p, then));
      });
      break;
    case ScalarFn::kLess:
    case ScalarFn::kEqual:
      result = Integer(args[0], path, [&](const PathCondition& p, const IndexExpr& a) {
        return or_fail(Integer(args[1], p, [&](const PathCondition& q, const IndexExpr& b) {
          const bool equal = e.fn() == ScalarFn::kEqual;
          return Branch(equal ? a - b : b - a - 1, equal, q, then);
        }));
      });
      break;
    default:
      return std::nullopt;
  }
  return failed ? std::nullopt : result;
}

Resolver::Result Resolver::Truth(const ScalarExpr& e, const PathCondition& path,
                                 const ThenTruth& then) {
  if (++steps_ > kMaxSteps) return std::nullopt;
  if (e.kind() == ScalarExpr::Kind::kRead && !IsInput(e.tensor()) &&
      IntegerStorage(original_, Local(e)).empty()) {
    return Truth(BodyAt(e), path, then);
  }
  if (e.kind() == ScalarExpr::Kind::kApply && IsComparison(e.fn())) {
    return Comparison(e, path, then);
  }
  return Integer(e, path, [&](const PathCondition& p, const IndexExpr& value) {
    return Branch(value, true, p,
                  [&](const PathCondition& q, bool zero) { return then(q, !zero); });
  });
}

ScalarExpr Resolver::Index(const IndexExpr& e, const PathCondition& path, const ThenInteger& then) {
  if (!HoldsLoad(e)) return then(path, e);
  if (e.kind() == IndexExpr::Kind::kLoad) {
    Result result = Integer(ScalarExpr(e.load()), path, then);
    return result ? *result : then(path, e);
  }
  return Index(e.lhs(), path, [&](const PathCondition& p, const IndexExpr& a) {
    return Index(e.rhs(), p, [&](const PathCondition& q, const IndexExpr& b) {
      return then(q, Binary(e.kind(), a, b));
    });
  });
}

// The read at each possible position; 0 where the position is outside.
ScalarExpr Resolver::Read(const ScalarExpr& e, Idx done, const PathCondition& path) {
  if (done.size() == e.indices().size()) return ScalarExpr::Read(e.tensor(), std::move(done));
  const IndexExpr size = original_.TypeOf(e.tensor()).dims[done.size()];
  return Index(e.indices()[done.size()], path, [&](const PathCondition& p, const IndexExpr& i) {
    auto next = [&](const PathCondition& q) {
      Idx more = done;
      more.push_back(i);
      return Read(e, std::move(more), q);
    };
    if (!HoldsLoad(e.indices()[done.size()])) return next(p);
    reads_at_data_ = true;
    return Branch(i, false, p, [&](const PathCondition& q, bool low) {
      if (!low) return ScalarExpr(0);
      return Branch(size - 1 - i, false, q, [&](const PathCondition& r, bool high) {
        return high ? next(r) : ScalarExpr(0);
      });
    });
  });
}

ScalarExpr Resolver::Rebuilt(const ScalarExpr& e, const PathCondition& path) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
    case ScalarExpr::Kind::kParam:
      return e;
    case ScalarExpr::Kind::kIndex:
      return Index(e.index(), path,
                   [](const PathCondition&, const IndexExpr& i) { return ScalarExpr::Index(i); });
    case ScalarExpr::Kind::kRead:
      return Read(e, {}, path);
    case ScalarExpr::Kind::kSelect:
      return ScalarExpr::Select(e.guard(), Scalar(e.args()[0], path), Scalar(e.args()[1], path));
    case ScalarExpr::Kind::kReduce:
      return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(),
                                Scalar(e.args()[0], PathCondition()));
    case ScalarExpr::Kind::kApply:
      break;
  }
  Result decided;
  if (e.fn() == ScalarFn::kWhere) {
    decided = Truth(e.args()[0], path, [&](const PathCondition& p, bool holds) {
      return Scalar(e.args()[holds ? 1 : 2], p);
    });
  } else {
    decided =
        Comparison(e, path, [](const PathCondition&, bool holds) { return ScalarExpr(holds); });
  }
  if (decided) return *decided;
  std::vector<ScalarExpr> args;
  for (const ScalarExpr& arg : e.args()) args.push_back(Scalar(arg, path));
  return ScalarExpr::Apply(e.fn(), std::move(args));
}

ScalarExpr Resolver::Scalar(const ScalarExpr& e, const PathCondition& path) {
  if (++steps_ > kMaxSteps) return e;
  if (!path.empty()) return Rebuilt(e, path);
  auto it = memo_.find(e.node().get());
  if (it != memo_.end()) return it->second.second;
  ScalarExpr result = Rebuilt(e, path);
  memo_.emplace(e.node().get(), std::make_pair(e, result));
  return result;
}

}  // namespace

Definition ResolveIntegers(const Definition& definition, bool* reads_at_data) {
  return Resolver(definition).Run(reads_at_data);
}

}  // namespace lemma::prover
