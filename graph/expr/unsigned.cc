#include "graph/expr/unsigned.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/arithmetic.h"
#include "graph/expr/substitute.h"

namespace lemma {
namespace {

// Everything below is right in two readings of a u64 `a`: as the int64_t with its bits, and, for
// proofs and counterexamples, as the number itself, which is never negative.

constexpr double kLowest = -0x1p63;

ScalarExpr Less(const ScalarExpr& a, const ScalarExpr& b) { return Apply(ScalarFn::kLess, a, b); }
ScalarExpr Or(const ScalarExpr& a, const ScalarExpr& b) { return Apply(ScalarFn::kOr, a, b); }
ScalarExpr Where(const ScalarExpr& c, const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kWhere, c, a, b);
}
ScalarExpr IsZero(const ScalarExpr& a) { return Apply(ScalarFn::kEqual, a, 0); }
// Whether the highest bit is set.
ScalarExpr IsHigh(const ScalarExpr& a) { return Less(a, 0); }

// Whether `e` is a constant below, or above, all numbers of the type.
bool IsBelow(const ScalarExpr& e) { return e.kind() == ScalarExpr::Kind::kConst && e.value() < 0; }
bool IsAbove(const ScalarExpr& e) {
  return e.kind() == ScalarExpr::Kind::kConst && e.value() >= 0x1p64;
}

// A constant as the int64_t with its bits; one outside the type becomes the nearest number in it.
ScalarExpr Bits(const ScalarExpr& e) {
  if (e.kind() != ScalarExpr::Kind::kConst || std::isnan(e.value())) return e;
  if (IsBelow(e)) return 0;
  if (IsAbove(e)) return -1;
  return e.value() >= -kLowest ? ScalarExpr(e.value() - 0x1p64) : e;
}

// The same, but only of a constant that is no int64_t.
ScalarExpr HighBits(const ScalarExpr& e) {
  const bool high = e.kind() == ScalarExpr::Kind::kConst && std::isfinite(e.value()) &&
                    e.value() >= -kLowest && !IsAbove(e);
  return high ? Bits(e) : e;
}

ScalarExpr UnsignedLess(const ScalarExpr& a, const ScalarExpr& b) {
  if (IsBelow(a) || IsAbove(b)) return 1;
  if (IsAbove(a) || IsBelow(b)) return 0;
  const ScalarExpr x = Bits(a), y = Bits(b);
  // Of one low and one high number, the low one is less.
  const ScalarExpr alike = Apply(ScalarFn::kEqual, IsHigh(x), IsHigh(y));
  return Where(alike, Less(x, y), IsHigh(y));
}

ScalarExpr Greater(const ScalarExpr& a, const ScalarExpr& b) {
  if (IsBelow(a)) return b;
  if (IsBelow(b)) return a;
  return Where(UnsignedLess(a, b), Bits(b), Bits(a));
}

ScalarExpr Lesser(const ScalarExpr& a, const ScalarExpr& b) {
  if (IsAbove(a)) return b;
  if (IsAbove(b)) return a;
  return Where(UnsignedLess(b, a), Bits(b), Bits(a));
}

// a / b, and 0 for b = 0. A divisor from 2^63 on goes into `a` at most once. The quotient of a
// larger `a` is that of a / 2 doubled, or one more.
ScalarExpr Quotient(const ScalarExpr& a, const ScalarExpr& b) {
  const ScalarExpr half = Apply(ScalarFn::kDiv, a - kLowest, 2) + 0x1p62;
  const ScalarExpr even = Apply(ScalarFn::kDiv, half, b) * 2;
  const ScalarExpr of_high = even + Where(UnsignedLess(a - even * b, b), 0, 1);
  const ScalarExpr of_low_divisor = Where(IsHigh(a), of_high, Apply(ScalarFn::kDiv, a, b));
  const ScalarExpr of_high_divisor = Where(UnsignedLess(a, b), 0, 1);
  return Where(IsZero(b), 0, Where(IsHigh(b), of_high_divisor, of_low_divisor));
}

ScalarExpr Remainder(const ScalarExpr& a, const ScalarExpr& b) {
  const ScalarExpr of_low = Apply(ScalarFn::kFmod, a, b);
  const ScalarExpr of_high = a - Quotient(a, b) * b;
  return Where(IsZero(b), of_low, Where(Or(IsHigh(a), IsHigh(b)), of_high, of_low));
}

// a^n. For an odd a, a^(2^63) = 1 (mod 2^64); for an even one it is 0.
ScalarExpr Power(const ScalarExpr& a, const ScalarExpr& n) {
  const ScalarExpr odd = Apply(ScalarFn::kBitAnd, a, 1);
  return Where(IsHigh(n), odd * Apply(ScalarFn::kPow, a, n - kLowest), Apply(ScalarFn::kPow, a, n));
}

// The greatest of the high numbers if there is one, else the greatest of all, and so on. Of two
// high numbers, the greater one is the greater int64_t, too.
// `num_vars`: each reduction gets variables of its own, numbered from there on.
ScalarExpr Extreme(const ScalarExpr& e, const ScalarExpr& body, int* num_vars) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  auto reduce = [&](ReduceKind kind, const ScalarExpr& x) {
    ExprSubstitution renamed;
    renamed.fresh = num_vars;
    return Substitute(ScalarExpr::Reduce(kind, e.axes(), e.guard(), x), renamed);
  };
  const ScalarExpr least = reduce(ReduceKind::kMin, body);
  const ScalarExpr greatest = reduce(ReduceKind::kMax, body);
  if (e.reduce() == ReduceKind::kMax) {
    const ScalarExpr of_high = reduce(ReduceKind::kMax, Where(IsHigh(body), body, -kInf));
    return Where(IsHigh(least), of_high, greatest);
  }
  const ScalarExpr of_low = reduce(ReduceKind::kMin, Where(IsHigh(body), kInf, body));
  return Where(IsHigh(greatest), least, of_low);
}

class Rewriter {
 public:
  Rewriter(const Definition& d, int* num_vars) : d_(d), num_vars_(num_vars) {}

  ScalarExpr Rewrite(const ScalarExpr& e) {
    auto it = memo_.find(e.node());
    if (it != memo_.end()) return it->second;
    ScalarExpr result = RewriteNode(e);
    memo_.emplace(e.node(), result);
    return result;
  }

 private:
  bool IsUnsigned64(const ScalarExpr& e) {
    auto any = [&](size_t from) {
      return std::any_of(e.args().begin() + static_cast<std::ptrdiff_t>(from), e.args().end(),
                         [&](const ScalarExpr& arg) { return IsUnsigned64(arg); });
    };
    switch (e.kind()) {
      case ScalarExpr::Kind::kRead:
        return d_.TypeOf(e.tensor()).dtype == DType::kU64;
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
      case ScalarExpr::Kind::kIndex:
        return false;
      default:
        break;
    }
    auto it = unsigned_.find(e.node());
    if (it != unsigned_.end()) return it->second;
    bool result;
    if (e.kind() != ScalarExpr::Kind::kApply) {
      result = any(0);
    } else if (IsStored(e.fn())) {
      result = e.fn() == ScalarFn::kStoredU64;
    } else {
      result = !Info(e.fn()).truth() && any(e.fn() == ScalarFn::kWhere ? 1 : 0);
    }
    unsigned_.emplace(e.node(), result);
    return result;
  }

  ScalarExpr RewriteNode(const ScalarExpr& e) {
    std::vector<ScalarExpr> args;
    bool any = false;
    for (const ScalarExpr& arg : e.args()) {
      args.push_back(Rewrite(arg));
      any = any || IsUnsigned64(arg);
    }
    switch (e.kind()) {
      case ScalarExpr::Kind::kApply:
        return any ? OfUnsigned(e, std::move(args)) : ScalarExpr::Apply(e.fn(), std::move(args));
      case ScalarExpr::Kind::kSelect:
        return ScalarExpr::Select(e.guard(), args[0], args[1]);
      case ScalarExpr::Kind::kReduce: {
        const bool extreme = e.reduce() == ReduceKind::kMax || e.reduce() == ReduceKind::kMin;
        if (!any || !extreme) {
          return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), std::move(args[0]));
        }
        return Extreme(e, WithBits(args[0]), num_vars_);
      }
      default:
        return e;
    }
  }

  // The constants that are a choice of `e` as bits: those of padding, which may be infinite.
  static ScalarExpr WithBits(const ScalarExpr& e) {
    if (e.kind() == ScalarExpr::Kind::kSelect) {
      return ScalarExpr::Select(e.guard(), WithBits(e.args()[0]), WithBits(e.args()[1]));
    }
    if (e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kWhere) {
      return Where(e.args()[0], WithBits(e.args()[1]), WithBits(e.args()[2]));
    }
    return Bits(e);
  }

  ScalarExpr OfUnsigned(const ScalarExpr& e, std::vector<ScalarExpr> args) {
    switch (e.fn()) {
      case ScalarFn::kLess:
        return UnsignedLess(args[0], args[1]);
      case ScalarFn::kMin:
        return Lesser(args[0], args[1]);
      case ScalarFn::kMax:
        return Greater(args[0], args[1]);
      case ScalarFn::kAbs:
        return args[0];
      case ScalarFn::kSign:
        return Where(IsZero(args[0]), 0, 1);
      default:
        break;
    }
    if (e.fn() != ScalarFn::kWhere || IsUnsigned64(e)) {
      for (size_t i = e.fn() == ScalarFn::kWhere ? 1 : 0; i < args.size(); ++i) {
        args[i] = HighBits(args[i]);
      }
    }
    switch (e.fn()) {
      case ScalarFn::kDiv:
        return Quotient(args[0], args[1]);
      case ScalarFn::kMod:
      case ScalarFn::kFmod:
        return Remainder(args[0], args[1]);
      case ScalarFn::kPow:
        return IsUnsigned64(e.args()[1]) ? Power(args[0], args[1])
                                         : ScalarExpr::Apply(e.fn(), std::move(args));
      default:
        return ScalarExpr::Apply(e.fn(), std::move(args));
    }
  }

  const Definition& d_;
  int* num_vars_;
  absl::flat_hash_map<std::shared_ptr<const ScalarNode>, ScalarExpr> memo_;
  absl::flat_hash_map<std::shared_ptr<const ScalarNode>, bool> unsigned_;
};

}  // namespace

Definition WithUnsignedOrder(Definition definition) {
  auto is_u64 = [](const auto& tensor) { return tensor.dtype == DType::kU64; };
  const bool any = std::any_of(definition.inputs.begin(), definition.inputs.end(), is_u64) ||
                   std::any_of(definition.tensors.begin(), definition.tensors.end(), is_u64);
  if (!any || ArithmeticFor(definition) != Arithmetic::kInteger) return definition;
  Definition result = definition;
  Rewriter rewriter(definition, &result.num_vars);
  for (TensorExpr& tensor : result.tensors) {
    tensor.body = rewriter.Rewrite(tensor.body);
    if (tensor.dtype == DType::kU64) tensor.body = Bits(tensor.body);
  }
  return result;
}

}  // namespace lemma
