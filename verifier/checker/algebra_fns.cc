// Functions of exact values. Uses only the laws written here and in algebra_laws.cc.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "verifier/checker/algebra.h"

namespace lemma::checker {
namespace {

constexpr int kLargestPower = 8;

int64_t FloorOf(Rational r) { return r.num / r.den - (r.num % r.den < 0 ? 1 : 0); }

}  // namespace

Value Algebra::Fn(ScalarFn fn, std::vector<Value> args, AtomFacts facts) {
  Atom atom;
  atom.kind = Atom::Kind::kFn;
  atom.fn = fn;
  for (const Value& arg : args) atom.args.push_back(*arg);
  if (Info(fn).commutative() && atom.args.size() == 2) {
    // Any order that depends only on the values.
    Atom swapped = atom;
    std::swap(swapped.args[0], swapped.args[1]);
    if (swapped < atom) atom = std::move(swapped);
  }
  return OfAtom(std::move(atom), facts);
}

Value Algebra::Power(const Value& base, const Value& exponent) {
  Rational n;
  if (IsNumber(exponent, &n)) {
    if (n == Rational{1, 2}) return Apply(ScalarFn::kSqrt, {base});
    if (n.den == 1 && n.num >= 1 && n.num <= kLargestPower) {
      Value power = base;
      for (int i = 1; i < n.num; ++i) power = Product(power, base);
      return power;
    }
  }
  return Fn(ScalarFn::kPow, {base, exponent});
}

// ---- Comparisons and rounding ----

Value Algebra::Compare(ScalarFn fn, const Value& a, const Value& b) {
  Rational x, y;
  if (IsNumber(a, &x) && IsNumber(b, &y))
    return Integer(fn == ScalarFn::kLess ? Less(x, y) : x == y);
  if (level_ == Level::kBits || IsInfinite(*a) || IsInfinite(*b))
    return Fn(fn, {a, b}, {true, true});
  // Decides by the sign of the difference; a positive factor does not change it.
  Value d = Sum(b, a, {-1, 1});
  if (IsNumber(d, &x)) return Integer(fn == ScalarFn::kLess ? x.num > 0 : x.num == 0);
  Rational scale = Div({1, 1}, Content({*d}));
  if (fn == ScalarFn::kEqual && d->begin()->second.num < 0) scale.num = -scale.num;
  return Fn(fn, {Integer(0), Sum(Integer(0), d, scale)}, {true, true});
}

Value Algebra::Round(ScalarFn fn, const Value& a) {
  if (IsInteger(*a)) return a;
  Rational r;
  if (!IsNumber(a, &r)) return Fn(fn, {a}, {false, true});
  const int64_t down = FloorOf(r);
  if (fn == ScalarFn::kFloor) return Integer(down);
  if (fn == ScalarFn::kCeil) return Integer(down + 1);  // r is no integer
  if (fn == ScalarFn::kTrunc) return Integer(r.num < 0 ? down + 1 : down);
  const Rational part = Add(r, {-down, 1}), half{1, 2};
  if (part == half) return Integer(down % 2 == 0 ? down : down + 1);
  return Integer(Less(part, half) ? down : down + 1);
}

// ---- Odd and even functions ----

std::optional<Value> Algebra::Symmetric(ScalarFn fn, const Value& x) {
  const Symmetry symmetry = Info(fn).symmetry();
  if (symmetry == Symmetry::kNone) return std::nullopt;
  const bool odd = symmetry == Symmetry::kOdd;
  if (x->empty()) return odd ? Integer(0) : Constant(ValueAt(fn, 0));
  if (x->begin()->second.num > 0) return std::nullopt;
  const Value opposite = Apply(fn, {Sum(Integer(0), x, {-1, 1})});
  return odd ? Sum(Integer(0), opposite, {-1, 1}) : opposite;
}

// ---- Bit by bit ----

Value Algebra::NegatedBits(const Value& x) {
  Rational r;
  if (x->empty()) return Constant(-0.0);
  if (*x == *Constant(-0.0)) return Integer(0);
  if (IsNumber(x, &r)) return Number({-r.num, r.den});
  if (IsInfinite(*x)) return Sum(Integer(0), x, {-1, 1});
  if (x->size() != 1) return Fn(ScalarFn::kNeg, {x});
  Atom atom = atoms_[x->begin()->first[0].first];
  if (atom.kind == Atom::Kind::kFn && atom.fn == ScalarFn::kNeg) return Share(atom.args[0]);
  if (atom.kind == Atom::Kind::kConstant) {
    atom.name = atom.name[0] == '-' ? atom.name.substr(1) : "-" + atom.name;
    return OfAtom(std::move(atom));
  }
  return Fn(ScalarFn::kNeg, {x});
}

std::optional<double> Algebra::ConstantOf(const Polynomial& x) const {
  Rational r;
  if (IsNumber(Share(x), &r)) return static_cast<double>(r.num) / static_cast<double>(r.den);
  const Monomial& m = x.begin()->first;
  const bool alone = x.size() == 1 && m.size() == 1 && m[0].second == 1;
  if (!alone || atoms_[m[0].first].kind != Atom::Kind::kConstant) return std::nullopt;
  return std::strtod(atoms_[m[0].first].name.c_str(), nullptr);
}

Value Algebra::Extreme(Atom::Kind kind, const std::vector<Value>& values) {
  Atom atom;
  atom.kind = kind;
  for (const Value& v : values) {
    // The neutral element.
    const bool greatest = IsInfinite(*v) && v->begin()->second.num > 0;
    if (IsInfinite(*v) && greatest == (kind == Atom::Kind::kMin)) continue;
    const Atom* inner = v->size() == 1 && v->begin()->first.size() == 1
                            ? &atoms_[v->begin()->first[0].first]
                            : nullptr;
    if (inner != nullptr && inner->kind == kind) {
      atom.args.insert(atom.args.end(), inner->args.begin(), inner->args.end());
    } else {
      atom.args.push_back(*v);
    }
  }
  // A set, ordered by atoms of one argument each. If several are constants, only the extreme one is
  // kept.
  std::map<Atom, Polynomial> set;
  for (const Polynomial& arg : atom.args) {
    auto beats = [&](const Polynomial& other) {
      const auto x = ConstantOf(arg), y = ConstantOf(other);
      return x && y && (kind == Atom::Kind::kMax ? *y > *x : *y < *x);
    };
    if (std::any_of(atom.args.begin(), atom.args.end(), beats)) continue;
    Atom key;
    key.args = {arg};
    set.emplace(std::move(key), arg);
  }
  atom.args.clear();
  for (const auto& [key, arg] : set) atom.args.push_back(arg);
  if (atom.args.empty()) return Constant(kind == Atom::Kind::kMax ? -INFINITY : INFINITY);
  if (atom.args.size() == 1) return Share(atom.args[0]);
  return OfAtom(std::move(atom));
}

// a - b = a + (-b), -(-a) = a, 1*a = a/1 = a, a + (-0) = a, and maxima and minima of sets.
Value Algebra::ApplyBits(ScalarFn fn, std::vector<Value> args) {
  const Value one = Integer(1), minus_zero = Constant(-0.0);
  switch (fn) {
    case ScalarFn::kNeg:
      return NegatedBits(args[0]);
    case ScalarFn::kSub:
      return ApplyBits(ScalarFn::kAdd, {args[0], NegatedBits(args[1])});
    case ScalarFn::kAdd:
      if (*args[1] == *minus_zero) return args[0];
      if (*args[0] == *minus_zero) return args[1];
      break;
    case ScalarFn::kMul:
      if (*args[0] == *one) return args[1];
      if (*args[1] == *one) return args[0];
      break;
    case ScalarFn::kDiv:
      if (*args[1] == *one) return args[0];
      break;
    case ScalarFn::kMax:
      return Extreme(Atom::Kind::kMax, args);
    case ScalarFn::kMin:
      return Extreme(Atom::Kind::kMin, args);
    default:
      break;
  }
  return Fn(fn, std::move(args));
}

// ---- All functions ----

Value Algebra::Apply(ScalarFn fn, const std::vector<Value>& args) {
  ++work_;
  Rational r, s;
  switch (fn) {
    case ScalarFn::kLess:
    case ScalarFn::kEqual:
      return Compare(fn, args[0], args[1]);
    case ScalarFn::kFloor:
    case ScalarFn::kCeil:
    case ScalarFn::kRound:
    case ScalarFn::kTrunc:
      return Round(fn, args[0]);
    case ScalarFn::kMod:
    case ScalarFn::kFmod:
      if (IsNumber(args[0], &r) && IsNumber(args[1], &s) && s.num != 0) {
        const Value quotient =
            Round(fn == ScalarFn::kMod ? ScalarFn::kFloor : ScalarFn::kTrunc, Number(Div(r, s)));
        return Sum(args[0], Product(args[1], quotient), {-1, 1});
      }
      return Fn(fn, args);
    case ScalarFn::kAnd:
    case ScalarFn::kOr:
    case ScalarFn::kNot:
    case ScalarFn::kWhere: {
      std::vector<Value> truth = args;
      const size_t conditions = fn == ScalarFn::kWhere ? 1 : args.size();
      for (size_t i = 0; i < conditions; ++i) {
        if (IsTruth(*args[i])) continue;
        const Value zero = Compare(ScalarFn::kEqual, args[i], Integer(0));
        truth[i] = Sum(Integer(1), zero, {-1, 1});
      }
      if (fn == ScalarFn::kNot) return Sum(Integer(1), truth[0], {-1, 1});
      if (fn == ScalarFn::kWhere && IsNumber(truth[0], &r)) return args[r.num != 0 ? 1 : 2];
      if (fn == ScalarFn::kWhere &&
          (level_ == Level::kBits || IsInfinite(*args[1]) || IsInfinite(*args[2]))) {
        return Fn(fn, {truth[0], args[1], args[2]});
      }
      if (fn == ScalarFn::kWhere) {
        return Sum(Product(truth[0], Sum(args[1], args[2], {-1, 1})), args[2]);
      }
      const Value both = Product(truth[0], truth[1]);
      return fn == ScalarFn::kAnd ? both : Sum(Sum(truth[0], truth[1]), both, {-1, 1});
    }
    case ScalarFn::kIsNan:
    case ScalarFn::kIsInf:
      return Fn(fn, args, {true, true});
    default:
      break;
  }
  if (level_ == Level::kBits) return ApplyBits(fn, args);
  if (auto symmetric = Symmetric(fn, args[0])) return *symmetric;
  switch (fn) {
    case ScalarFn::kAdd:
      return Sum(args[0], args[1]);
    case ScalarFn::kSub:
      return Sum(args[0], args[1], {-1, 1});
    case ScalarFn::kNeg:
      return Sum(Integer(0), args[0], {-1, 1});
    case ScalarFn::kMul:
      return Product(args[0], args[1]);
    case ScalarFn::kDiv:
      return Product(args[0], Reciprocal(args[1]));
    case ScalarFn::kMax:
      return Max(args);
    case ScalarFn::kMin:
      return Reduce(ReduceKind::kMin, args);
    case ScalarFn::kAbs:
      return Max({args[0], Sum(Integer(0), args[0], {-1, 1})});
    case ScalarFn::kSign:
      if (IsNumber(args[0], &r)) return Integer((r.num > 0) - (r.num < 0));
      return Fn(fn, args, {false, true});
    case ScalarFn::kExp:
      return Exp(args[0]);
    case ScalarFn::kLog:
      return Log(args[0]);
    case ScalarFn::kSqrt:
      if (*args[0] == *Integer(0) || *args[0] == *Integer(1)) return args[0];
      return Fn(fn, args);
    case ScalarFn::kPow:
      return Power(args[0], args[1]);
    default:
      return Fn(fn, args);
  }
}

Value Algebra::Reduce(ReduceKind kind, const std::vector<Value>& values) {
  work_ += static_cast<int64_t>(values.size());
  if (level_ == Level::kBits) {
    if (kind == ReduceKind::kMax) return Extreme(Atom::Kind::kMax, values);
    if (kind == ReduceKind::kMin) return Extreme(Atom::Kind::kMin, values);
    Atom atom;
    atom.kind = Atom::Kind::kFold;
    atom.name = Name(kind);
    for (const Value& v : values) atom.args.push_back(*v);
    return OfAtom(std::move(atom));
  }
  switch (kind) {
    case ReduceKind::kSum: {
      if (values.size() == 1) return values[0];
      Polynomial sum;
      for (const Value& v : values) {
        if (IsInfinite(*v)) Fail("arithmetic with an infinity");
        AddTo(&sum, *v, {1, 1});
      }
      return Share(std::move(sum));
    }
    case ReduceKind::kProd: {
      Value product = Integer(1);
      for (const Value& v : values) product = Product(product, v);
      return product;
    }
    case ReduceKind::kMax:
      return Max(values);
    case ReduceKind::kMin: {
      std::vector<Value> negated;
      for (const Value& v : values) negated.push_back(Sum(Integer(0), v, {-1, 1}));
      return Sum(Integer(0), Max(std::move(negated)), {-1, 1});
    }
  }
  return Integer(0);
}

}  // namespace lemma::checker
