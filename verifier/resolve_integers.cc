#include "verifier/resolve_integers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/expr/substitute.h"

namespace lemma::verify {
namespace {

constexpr int kMaxSteps = 50000;
constexpr int64_t kFar = int64_t{1} << 60;

// c + v, v a sum of multiples of things that are not integers known here. The text of v has a
// leading coefficient that is positive; `sign` is what it was.
struct Linear {
  std::string v;
  int64_t sign = 1, c = 0;
};

using Parts = std::map<std::string, int64_t>;  // "" is the constant

// False if a number gets too large.
bool AddTo(const IndexExpr& e, int64_t factor, Parts* parts) {
  const bool product = e.kind() == IndexExpr::Kind::kMul;
  if (product && (e.lhs().is_const() || e.rhs().is_const())) {
    const bool left = e.lhs().is_const();
    return !__builtin_mul_overflow(factor, (left ? e.lhs() : e.rhs()).value(), &factor) &&
           AddTo(left ? e.rhs() : e.lhs(), factor, parts);
  }
  if (e.kind() == IndexExpr::Kind::kAdd) {
    return AddTo(e.lhs(), factor, parts) && AddTo(e.rhs(), factor, parts);
  }
  if (e.is_const() && __builtin_mul_overflow(factor, e.value(), &factor)) return false;
  int64_t& sum = (*parts)[e.is_const() ? "" : e.ToString()];
  return !__builtin_add_overflow(sum, factor, &sum) && std::abs(sum) < kFar;
}

std::optional<Linear> LinearOf(const IndexExpr& e) {
  Parts parts;
  if (!AddTo(e, 1, &parts)) return std::nullopt;
  Linear linear;
  linear.c = parts[""];
  parts.erase("");
  for (const auto& [text, factor] : parts) {
    if (factor == 0) continue;
    if (linear.v.empty()) linear.sign = factor > 0 ? 1 : -1;
    absl::StrAppend(&linear.v, " + ", linear.sign * factor, " * ", text);
  }
  return linear;
}

// What has been decided on the way to a part of the result.
class Path {
 public:
  // Whether e >= 0 (or e = 0) is known to hold or not to hold.
  std::optional<bool> Decide(const IndexExpr& e, bool equal) const {
    const std::optional<Linear> linear = LinearOf(e);
    if (!linear) return std::nullopt;
    const Linear& l = *linear;
    if (l.v.empty()) return equal ? l.c == 0 : l.c >= 0;
    auto it = ranges_.find(l.v);
    if (it == ranges_.end()) return std::nullopt;
    const Range& r = it->second;
    const int64_t b = -l.sign * l.c;  // v = b; v >= b, or v <= b if the sign is negative
    if (equal) {
      if (b < r.low || b > r.high || r.holes.count(b) > 0) return false;
      if (r.low == r.high) return true;
    } else if (l.sign > 0 ? r.low >= b : r.high <= b) {
      return true;
    } else if (l.sign > 0 ? r.high < b : r.low > b) {
      return false;
    }
    return std::nullopt;
  }
  Path With(const IndexExpr& e, bool equal, bool holds) const {
    Path path = *this;
    const std::optional<Linear> linear = LinearOf(e);
    if (!linear) return path;
    const Linear& l = *linear;
    Range& r = path.ranges_[l.v];
    const int64_t b = -l.sign * l.c;
    if (equal && holds) r.low = r.high = b;
    if (equal && !holds) r.holes.insert(b);
    if (!equal && (l.sign > 0) == holds) r.low = std::max(r.low, holds ? b : b + 1);
    if (!equal && (l.sign > 0) != holds) r.high = std::min(r.high, holds ? b : b - 1);
    return path;
  }
  bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    int64_t low = -kFar, high = kFar;
    std::set<int64_t> holes;
  };
  std::map<std::string, Range> ranges_;
};

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

IndexExpr Combined(IndexExpr::Kind kind, const IndexExpr& a, const IndexExpr& b) {
  switch (kind) {
    case IndexExpr::Kind::kAdd:
      return a + b;
    case IndexExpr::Kind::kMul:
      return a * b;
    case IndexExpr::Kind::kFloorDiv:
      return FloorDiv(a, b);
    case IndexExpr::Kind::kMod:
      return Mod(a, b);
    case IndexExpr::Kind::kMin:
      return Min(a, b);
    default:
      return Max(a, b);
  }
}

// Runs an expression with its integers unknown: where a comparison decides, the result is a Select
// of what comes of either answer. `then` is told the decisions and the value.
class Resolver {
 public:
  explicit Resolver(const Definition& definition) : original_(definition), result_(definition) {}

  Definition Run(bool* reads_at_data) {
    for (size_t i = 0; i < result_.tensors.size(); ++i) {
      memo_.clear();
      result_.tensors[i].body = Scalar(original_.tensors[i].body, Path());
    }
    if (steps_ > kMaxSteps) return original_;
    *reads_at_data |= reads_at_data_;
    return result_;
  }

 private:
  using Result = std::optional<ScalarExpr>;  // nullopt: not known to be an integer
  using ThenInteger = std::function<ScalarExpr(const Path&, const IndexExpr&)>;
  using ThenTruth = std::function<ScalarExpr(const Path&, bool)>;

  Result Integer(const ScalarExpr& e, const Path& path, const ThenInteger& then);
  Result IntegerFn(const ScalarExpr& e, const Path& path, const ThenInteger& then);
  Result Quotient(const ScalarExpr& e, const Path& path, const ThenInteger& then);
  // Of what is not 0.
  Result Truth(const ScalarExpr& e, const Path& path, const ThenTruth& then);
  Result Comparison(const ScalarExpr& e, const Path& path, const ThenTruth& then);
  ScalarExpr Index(const IndexExpr& e, const Path& path, const ThenInteger& then);
  ScalarExpr Branch(const IndexExpr& e, bool equal, const Path& path, const ThenTruth& then);

  ScalarExpr Scalar(const ScalarExpr& e, const Path& path);
  ScalarExpr Rebuilt(const ScalarExpr& e, const Path& path);
  ScalarExpr Read(const ScalarExpr& e, Idx done, const Path& path);

  ScalarExpr BodyAt(const ScalarExpr& read);
  bool IsInput(TensorId id) const { return id < original_.num_inputs(); }

  const Definition& original_;
  Definition result_;
  int steps_ = 0;
  bool reads_at_data_ = false;
  // By node, where nothing has been decided; expressions are kept so that no other gets their
  // address.
  std::unordered_map<const ScalarNode*, std::pair<ScalarExpr, ScalarExpr>> memo_;
};

ScalarExpr Resolver::BodyAt(const ScalarExpr& read) {
  const TensorExpr& local = original_.tensors[read.tensor() - original_.num_inputs()];
  ExprSubstitution at;
  at.fresh = &result_.num_vars;
  for (size_t d = 0; d < local.axes.size(); ++d) at.vars[local.axes[d].var] = read.indices()[d];
  return Substitute(local.body, at);
}

// e = 0, or e >= 0.
ScalarExpr Resolver::Branch(const IndexExpr& e, bool equal, const Path& path,
                            const ThenTruth& then) {
  if (++steps_ > kMaxSteps) return 0;
  if (auto known = path.Decide(e, equal)) return then(path, *known);
  ScalarExpr yes = then(path.With(e, equal, true), true);
  ScalarExpr no = then(path.With(e, equal, false), false);
  return ScalarExpr::Select(equal ? Eq(e, 0) : Ge(e, 0), std::move(yes), std::move(no));
}

// trunc(a / b) for a constant b > 0.
Resolver::Result Resolver::Quotient(const ScalarExpr& e, const Path& path,
                                    const ThenInteger& then) {
  if (e.kind() != ScalarExpr::Kind::kApply || e.fn() != ScalarFn::kDiv) return std::nullopt;
  const ScalarExpr& b = e.args()[1];
  if (b.kind() != ScalarExpr::Kind::kConst || b.value() < 1 || b.value() > 1e15 ||
      b.value() != std::floor(b.value())) {
    return std::nullopt;
  }
  const IndexExpr divisor = static_cast<int64_t>(b.value());
  return Integer(e.args()[0], path, [&](const Path& p, const IndexExpr& a) {
    return Branch(a, false, p, [&](const Path& q, bool positive) {
      return then(q, positive ? FloorDiv(a, divisor) : -FloorDiv(-a, divisor));
    });
  });
}

Resolver::Result Resolver::IntegerFn(const ScalarExpr& e, const Path& path,
                                     const ThenInteger& then) {
  const std::vector<ScalarExpr>& args = e.args();
  auto two = [&](const std::function<IndexExpr(const IndexExpr&, const IndexExpr&)>& f) -> Result {
    bool failed = false;
    Result result = Integer(args[0], path, [&](const Path& p, const IndexExpr& a) -> ScalarExpr {
      Result inner =
          Integer(args[1], p, [&](const Path& q, const IndexExpr& b) { return then(q, f(a, b)); });
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
    case ScalarFn::kNeg:
      return Integer(args[0], path, [&](const Path& p, I a) { return then(p, -a); });
    case ScalarFn::kTrunc:
      if (Result quotient = Quotient(args[0], path, then)) return quotient;
      return Integer(args[0], path, then);
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
      return Integer(args[0], path, then);
    case ScalarFn::kWhere: {
      bool failed = false;
      Result result = Truth(args[0], path, [&](const Path& p, bool holds) -> ScalarExpr {
        Result inner = Integer(args[holds ? 1 : 2], p, then);
        failed |= !inner;
        return inner ? *inner : ScalarExpr(0);
      });
      return failed ? std::nullopt : result;
    }
    default:
      return Comparison(e, path, [&](const Path& p, bool holds) { return then(p, holds ? 1 : 0); });
  }
}

Resolver::Result Resolver::Integer(const ScalarExpr& e, const Path& path, const ThenInteger& then) {
  if (++steps_ > kMaxSteps) return std::nullopt;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      if (e.value() != std::floor(e.value()) || std::abs(e.value()) > 1e15) return std::nullopt;
      return then(path, static_cast<int64_t>(e.value()));
    case ScalarExpr::Kind::kIndex:
      return Index(e.index(), path, then);
    case ScalarExpr::Kind::kRead:
      if (!IsInput(e.tensor())) return Integer(BodyAt(e), path, then);
      if (IsFloat(original_.TypeOf(e.tensor()).dtype)) return std::nullopt;
      return then(path, IndexExpr::Load(e.node()));
    case ScalarExpr::Kind::kApply:
      return IntegerFn(e, path, then);
    default:
      return std::nullopt;
  }
}

// Of a function whose value is 0 or 1.
Resolver::Result Resolver::Comparison(const ScalarExpr& e, const Path& path,
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
      return Truth(args[0], path, [&](const Path& p, bool holds) { return then(p, !holds); });
    case ScalarFn::kAnd:
    case ScalarFn::kOr:
      result = Truth(args[0], path, [&](const Path& p, bool holds) {
        if (holds == (e.fn() == ScalarFn::kOr)) return then(p, holds);
        return or_fail(Truth(args[1], p, then));
      });
      break;
    case ScalarFn::kLess:
    case ScalarFn::kEqual:
      result = Integer(args[0], path, [&](const Path& p, const IndexExpr& a) {
        return or_fail(Integer(args[1], p, [&](const Path& q, const IndexExpr& b) {
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

Resolver::Result Resolver::Truth(const ScalarExpr& e, const Path& path, const ThenTruth& then) {
  if (++steps_ > kMaxSteps) return std::nullopt;
  if (e.kind() == ScalarExpr::Kind::kRead && !IsInput(e.tensor())) {
    return Truth(BodyAt(e), path, then);
  }
  if (e.kind() == ScalarExpr::Kind::kApply && IsComparison(e.fn())) {
    return Comparison(e, path, then);
  }
  return Integer(e, path, [&](const Path& p, const IndexExpr& value) {
    return Branch(value, true, p, [&](const Path& q, bool zero) { return then(q, !zero); });
  });
}

ScalarExpr Resolver::Index(const IndexExpr& e, const Path& path, const ThenInteger& then) {
  if (!HoldsLoad(e)) return then(path, e);
  if (e.kind() == IndexExpr::Kind::kLoad) {
    Result result = Integer(ScalarExpr(e.load()), path, then);
    return result ? *result : then(path, e);
  }
  return Index(e.lhs(), path, [&](const Path& p, const IndexExpr& a) {
    return Index(e.rhs(), p, [&](const Path& q, const IndexExpr& b) {
      return then(q, Combined(e.kind(), a, b));
    });
  });
}

// The read at each position that there may be, 0 where that is outside.
ScalarExpr Resolver::Read(const ScalarExpr& e, Idx done, const Path& path) {
  if (done.size() == e.indices().size()) return ScalarExpr::Read(e.tensor(), std::move(done));
  const IndexExpr size = original_.TypeOf(e.tensor()).dims[done.size()];
  return Index(e.indices()[done.size()], path, [&](const Path& p, const IndexExpr& i) {
    auto next = [&](const Path& q) {
      Idx more = done;
      more.push_back(i);
      return Read(e, std::move(more), q);
    };
    if (!HoldsLoad(e.indices()[done.size()])) return next(p);
    reads_at_data_ = true;
    return Branch(i, false, p, [&](const Path& q, bool low) {
      if (!low) return ScalarExpr(0);
      return Branch(size - 1 - i, false, q,
                    [&](const Path& r, bool high) { return high ? next(r) : ScalarExpr(0); });
    });
  });
}

ScalarExpr Resolver::Rebuilt(const ScalarExpr& e, const Path& path) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
    case ScalarExpr::Kind::kParam:
      return e;
    case ScalarExpr::Kind::kIndex:
      return Index(e.index(), path,
                   [](const Path&, const IndexExpr& i) { return ScalarExpr::Index(i); });
    case ScalarExpr::Kind::kRead:
      return Read(e, {}, path);
    case ScalarExpr::Kind::kSelect:
      return ScalarExpr::Select(e.guard(), Scalar(e.args()[0], path), Scalar(e.args()[1], path));
    case ScalarExpr::Kind::kReduce:
      return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), Scalar(e.args()[0], Path()));
    case ScalarExpr::Kind::kApply:
      break;
  }
  Result decided;
  if (e.fn() == ScalarFn::kWhere) {
    decided = Truth(e.args()[0], path,
                    [&](const Path& p, bool holds) { return Scalar(e.args()[holds ? 1 : 2], p); });
  } else {
    decided = Comparison(e, path, [](const Path&, bool holds) { return ScalarExpr(holds); });
  }
  if (decided) return *decided;
  std::vector<ScalarExpr> args;
  for (const ScalarExpr& arg : e.args()) args.push_back(Scalar(arg, path));
  return ScalarExpr::Apply(e.fn(), std::move(args));
}

ScalarExpr Resolver::Scalar(const ScalarExpr& e, const Path& path) {
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

}  // namespace lemma::verify
