// Laws of maxima, exponentials, logarithms and reciprocals.
#include <algorithm>
#include <cmath>
#include <set>

#include "verifier/checker/algebra.h"

namespace lemma::checker {
namespace {

constexpr size_t kLargestSet = 2000;

}  // namespace

// ---- Maxima ----

// Elements max(S) * c + p with c > 0 become c * s + p for all s in S.
bool Algebra::Flatten(std::vector<Polynomial>* set) {
  for (size_t i = 0; i < set->size(); ++i) {
    for (const auto& [m, c] : (*set)[i]) {
      const bool alone = m.size() == 1 && m[0].second == 1;
      if (!alone || c.num < 0 || atoms_[m[0].first].kind != Atom::Kind::kMax) continue;
      const std::vector<Polynomial> inner = atoms_[m[0].first].args;
      const Rational factor = c;
      Polynomial rest = (*set)[i];
      rest.erase(m);
      set->erase(set->begin() + i);
      for (const Polynomial& s : inner) {
        Polynomial element = rest;
        AddTo(&element, s, factor);
        set->push_back(std::move(element));
      }
      return true;
    }
  }
  return false;
}

// max(t + c * S) = t + c * max(S). The choice of t and c > 0 is canonical: adding a value to the
// whole set adds it to t, and scaling the set scales t and c.
Value Algebra::Max(std::vector<Value> values) {
  std::vector<Polynomial> set;
  for (const Value& v : values) {
    if (IsInfinite(*v) && v->begin()->second.num > 0) return v;
    if (!IsInfinite(*v)) set.push_back(*v);
  }
  if (set.empty()) return Constant(-INFINITY);
  Polynomial shift;
  for (int round = 0; round < 2; ++round) {
    while (Flatten(&set)) {
      if (set.size() > kLargestSet) Fail("a maximum of too many values");
      if (!problem_.empty()) return Integer(0);
    }
    const auto least = LeastCoefficients(set);
    const Polynomial common(least.begin(), least.end());
    AddTo(&shift, common, {1, 1});
    for (Polynomial& p : set) AddTo(&p, common, {-1, 1});
  }
  // If elements differ by a number, only the greatest counts.
  std::map<std::vector<std::pair<Monomial, std::pair<int64_t, int64_t>>>, Rational> best;
  for (const Polynomial& p : set) {
    Rational constant{0, 1};
    std::vector<std::pair<Monomial, std::pair<int64_t, int64_t>>> rest;
    for (const auto& [m, c] : p) {
      if (m.empty()) {
        constant = c;
      } else {
        rest.push_back({m, {c.num, c.den}});
      }
    }
    auto [it, added] = best.emplace(std::move(rest), constant);
    if (!added && Less(it->second, constant)) it->second = constant;
  }
  set.clear();
  for (const auto& [rest, constant] : best) {
    Polynomial p;
    if (constant.num != 0) p[{}] = constant;
    for (const auto& [m, c] : rest) p[m] = {c.first, c.second};
    set.push_back(std::move(p));
  }
  DropBetween(&set);
  // The remaining elements may have more in common.
  const auto least = LeastCoefficients(set);
  const Polynomial common(least.begin(), least.end());
  AddTo(&shift, common, {1, 1});
  for (Polynomial& p : set) AddTo(&p, common, {-1, 1});
  if (set.size() == 1) return Share(std::move(shift));
  const Rational content = Content(set);
  Atom atom;
  atom.kind = Atom::Kind::kMax;
  for (const Polynomial& p : set) {
    Polynomial scaled;
    AddTo(&scaled, p, Div({1, 1}, content));
    atom.args.push_back(std::move(scaled));
  }
  return Sum(Share(std::move(shift)), OfAtom(std::move(atom)), content);
}

// Drops each p = (1 - t) * a + t * b, where a and b are other elements and 0 <= t <= 1.
void Algebra::DropBetween(std::vector<Polynomial>* set) {
  auto minus = [&](const Polynomial& x, const Polynomial& y) {
    Polynomial difference = x;
    AddTo(&difference, y, {-1, 1});
    return difference;
  };
  auto between = [&](const Polynomial& p, const Polynomial& a, const Polynomial& b) {
    const Polynomial part = minus(p, a), whole = minus(b, a);
    if (part.size() != whole.size() || part.empty()) return false;
    const Rational t = Div(part.begin()->second, whole.begin()->second);
    if (t.num < 0 || t.num > t.den) return false;
    Polynomial rest = part;
    AddTo(&rest, whole, {-t.num, t.den});
    return rest.empty();
  };
  constexpr size_t kMany = 16;
  for (size_t p = 0; p < set->size() && set->size() <= kMany;) {
    bool drop = false;
    for (size_t a = 0; a < set->size() && !drop; ++a) {
      for (size_t b = a + 1; b < set->size() && !drop; ++b) {
        drop = a != p && b != p && between((*set)[p], (*set)[a], (*set)[b]);
      }
    }
    if (drop) {
      set->erase(set->begin() + p);
    } else {
      ++p;
    }
  }
}

// (m - a) * (m - b) = 0 for m = max(a, b): rewrites higher powers of m.
Polynomial Algebra::WithoutSquares(const Polynomial& x) {
  Polynomial result;
  for (const auto& [m, c] : x) {
    size_t at = 0;
    while (at < m.size() && (m[at].second < 2 || atoms_[m[at].first].kind != Atom::Kind::kMax ||
                             atoms_[m[at].first].args.size() != 2)) {
      ++at;
    }
    if (at == m.size()) {
      AddTo(&result, {{m, c}}, {1, 1});
      continue;
    }
    Monomial rest = m;
    rest[at].second -= 2;
    if (rest[at].second == 0) rest.erase(rest.begin() + at);
    const Value a = Share(atoms_[m[at].first].args[0]), b = Share(atoms_[m[at].first].args[1]);
    const Value once = Share({{{{m[at].first, 1}}, {1, 1}}});
    const Value square = Sum(Product(Sum(a, b), once), Product(a, b), {-1, 1});
    AddTo(&result, *Product(Share({{rest, c}}), square), {1, 1});
  }
  return result;
}

// ---- Exponentials, logarithms, reciprocals ----

const Polynomial* Algebra::ExponentOf(const Monomial& m, size_t* at) const {
  if (level_ != Level::kReal) return nullptr;
  for (*at = 0; *at < m.size(); ++*at) {
    const Atom& atom = atoms_[m[*at].first];
    if (atom.kind == Atom::Kind::kFn && atom.fn == ScalarFn::kExp) return &atom.args[0];
  }
  return nullptr;
}

// Whether the form shows it: a sum of products of exponentials and their reciprocals.
bool Algebra::IsPositive(const Polynomial& x) const {
  return !x.empty() && std::all_of(x.begin(), x.end(), [&](const auto& term) {
    return term.second.num > 0 &&
           std::all_of(term.first.begin(), term.first.end(), [&](const auto& factor) {
             const Atom& atom = atoms_[factor.first];
             return (atom.kind == Atom::Kind::kFn && atom.fn == ScalarFn::kExp) ||
                    (atom.kind == Atom::Kind::kReciprocal && IsPositive(atom.args[0]));
           });
  });
}

Polynomial Algebra::CommonExponent(const Polynomial& x) {
  std::vector<Polynomial> exponents;
  for (const auto& [m, c] : x) {
    size_t at = 0;
    const Polynomial* exponent = ExponentOf(m, &at);
    exponents.push_back(exponent == nullptr ? Polynomial() : *exponent);
  }
  const auto least = LeastCoefficients(exponents);
  return Polynomial(least.begin(), least.end());
}

Value Algebra::Exp(const Value& x) {
  if (level_ == Level::kReal && x->empty()) return Integer(1);
  if (IsInfinite(*x) && x->begin()->second.num < 0) return Integer(0);
  for (const auto& [m, c] : *x) {
    const bool alone = level_ == Level::kReal && m.size() == 1 && m[0].second == 1;
    if (!alone || c.den != 1 || (c.num != 1 && c.num != -1)) continue;
    const Atom& atom = atoms_[m[0].first];
    if (atom.kind != Atom::Kind::kFn || atom.fn != ScalarFn::kLog) continue;
    // exp(log(y) + z) = y * exp(z), exp(-log(y) + z) = 1/y * exp(z), for positive y
    if (!IsPositive(atom.args[0])) continue;
    const Value y = Share(atom.args[0]);
    Polynomial rest = *x;
    rest.erase(m);
    return Product(c.num > 0 ? y : Reciprocal(y), Exp(Share(std::move(rest))));
  }
  return Fn(ScalarFn::kExp, {x});
}

// log(exp(t) * y) = t + log(y), log(1/y) = -log(y)
Value Algebra::Log(const Value& x) {
  if (*x == *Integer(1)) return Integer(0);
  if (level_ != Level::kReal) return Fn(ScalarFn::kLog, {x});
  const Value t = Share(CommonExponent(*x));
  const Value rest = t->empty() ? x : Product(x, Exp(Sum(Integer(0), t, {-1, 1})));
  if (*rest == *Integer(1)) return t;
  const auto& [m, c] = *rest->begin();
  if (rest->size() == 1 && c == Rational{1, 1} && m.size() == 1 && m[0].second == 1 &&
      atoms_[m[0].first].kind == Atom::Kind::kReciprocal) {
    return Sum(t, Log(Share(atoms_[m[0].first].args[0])), {-1, 1});
  }
  return Sum(t, Fn(ScalarFn::kLog, {rest}));
}

// 1 / (c * y) = 1/c * 1/y for numbers c; 1 / (x * y) = 1/x * 1/y for powers of atoms and exp.
Value Algebra::Reciprocal(const Value& given) {
  Rational number;
  if (given->empty()) Fail("a division by 0");
  if (!problem_.empty()) return Integer(0);
  if (IsNumber(given, &number)) return Number(Div({1, 1}, number));
  if (IsInfinite(*given)) Fail("arithmetic with an infinity");
  Value x = given, result = Integer(1);
  if (level_ == Level::kReal) {
    const Value t = Share(CommonExponent(*x));
    if (!t->empty()) {
      result = Exp(Sum(Integer(0), t, {-1, 1}));
      x = Product(x, result);
    }
    Monomial common = x->begin()->first;
    for (const auto& [m, c] : *x) {
      Monomial both;
      for (const auto& [atom, power] : common) {
        for (const auto& [other, p] : m) {
          if (atom == other) both.emplace_back(atom, std::min(power, p));
        }
      }
      common = both;
    }
    size_t at = 0;
    // The rest of the exponentials stays: it is no common factor.
    if (ExponentOf(common, &at) != nullptr) common.erase(common.begin() + at);
    for (const auto& [atom, power] : common) {
      Atom inverse;
      inverse.kind = Atom::Kind::kReciprocal;
      inverse.args = {{{{{atom, 1}}, {1, 1}}}};
      // 1 / (1 / y) = y
      const bool twice = atoms_[atom].kind == Atom::Kind::kReciprocal;
      const Value one = twice ? Share(atoms_[atom].args[0]) : OfAtom(std::move(inverse));
      for (int i = 0; i < power; ++i) result = Product(result, one);
    }
    Polynomial rest;
    for (const auto& [m, c] : *x) {
      Monomial left;
      for (const auto& [atom, power] : m) {
        auto it = std::find_if(common.begin(), common.end(),
                               [a = atom](const auto& factor) { return factor.first == a; });
        const int less = power - (it == common.end() ? 0 : it->second);
        if (less > 0) left.emplace_back(atom, less);
      }
      rest[left] = c;
    }
    x = Share(std::move(rest));
  }
  const Rational leading = x->begin()->second;
  result = Sum(Integer(0), result, Div({1, 1}, leading));
  x = Sum(Integer(0), x, Div({1, 1}, leading));
  if (*x == *Integer(1)) return result;
  Atom atom;
  atom.kind = Atom::Kind::kReciprocal;
  atom.args = {*x};
  return Product(result, OfAtom(std::move(atom)));
}

}  // namespace lemma::checker
