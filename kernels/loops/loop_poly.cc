#include "kernels/loops/loop_poly.h"

#include <algorithm>
#include <utility>

namespace lemma {
namespace loops {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

// Interval ends stay far below overflow; otherwise the interval is dropped.
constexpr int64_t kHuge = int64_t{1} << 60;

std::optional<Interval> MakeInterval(__int128 lo, __int128 hi) {
  if (lo < -kHuge || hi > kHuge) return std::nullopt;
  return Interval{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

std::optional<Interval> Scaled(const std::optional<Interval>& a, int64_t factor) {
  if (!a) return std::nullopt;
  __int128 x = static_cast<__int128>(a->lo) * factor, y = static_cast<__int128>(a->hi) * factor;
  return MakeInterval(std::min(x, y), std::max(x, y));
}

std::optional<Interval> Plus(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (!a || !b) return std::nullopt;
  return MakeInterval(static_cast<__int128>(a->lo) + b->lo, static_cast<__int128>(a->hi) + b->hi);
}

std::optional<Interval> Times(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (!a || !b) return std::nullopt;
  auto x = Scaled(a, b->lo), y = Scaled(a, b->hi);
  if (!x || !y) return std::nullopt;
  return Interval{std::min(x->lo, y->lo), std::max(x->hi, y->hi)};
}

}  // namespace

Poly Constant(int64_t value) {
  Poly p;
  p.base = value;
  return p;
}

Poly Add(const Poly& a, const Poly& b, int64_t scale) {
  Poly r;
  r.base = a.base + scale * b.base;
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      r.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].first < a.terms[i].first) {
      r.terms.push_back({b.terms[j].first, scale * b.terms[j].second});
      ++j;
    } else {
      int64_t c = a.terms[i].second + scale * b.terms[j].second;
      if (c != 0) r.terms.push_back({a.terms[i].first, c});
      ++i;
      ++j;
    }
  }
  return r;
}

Poly Scale(const Poly& a, int64_t factor) {
  if (factor == 0) return Poly();
  Poly r = a;
  r.base *= factor;
  for (auto& term : r.terms) term.second *= factor;
  return r;
}

bool operator==(const Poly& a, const Poly& b) { return a.base == b.base && a.terms == b.terms; }

int64_t CoefficientOf(const Poly& p, int term) {
  for (const auto& [t, c] : p.terms) {
    if (t == term) return c;
  }
  return 0;
}

std::optional<Interval> Intersect(const std::optional<Interval>& a,
                                  const std::optional<Interval>& b) {
  if (!a) return b;
  if (!b) return a;
  return Interval{std::max(a->lo, b->lo), std::min(a->hi, b->hi)};
}

void TermTable::AddVar(int64_t extent) {
  Term term;
  term.var = static_cast<int>(terms_.size());
  term.deps.set(term.var);
  terms_.push_back(std::move(term));
  SetExtent(terms_.back().var, extent);
}

void TermTable::SetExtent(int var, int64_t extent) {
  terms_[var].bounded = true;
  terms_[var].bounds = {0, std::max<int64_t>(extent - 1, 0)};
}

std::optional<Interval> TermTable::BoundsOf(const Poly& p) const {
  std::optional<Interval> sum = Interval{p.base, p.base};
  for (const auto& [t, c] : p.terms) {
    if (!terms_[t].bounded) return std::nullopt;
    sum = Plus(sum, Scaled(terms_[t].bounds, c));
  }
  return sum;
}

Vars TermTable::DepsOf(const Poly& p) const {
  Vars deps;
  for (const auto& term : p.terms) deps |= terms_[term.first].deps;
  return deps;
}

bool TermTable::DataDependent(const Poly& p) const {
  return std::any_of(p.terms.begin(), p.terms.end(),
                     [this](const auto& term) { return terms_[term.first].data_dependent; });
}

BoundedPoly TermTable::Intern(Term term) {
  term.deps = DepsOf(term.a) | DepsOf(term.b) | term.deps;
  term.data_dependent = term.data_dependent || DataDependent(term.a) || DataDependent(term.b);
  size_t t = 0;
  for (; t < terms_.size(); ++t) {
    const Term& other = terms_[t];
    if (other.kind == term.kind && other.var == term.var && other.load == term.load &&
        other.a == term.a && other.b == term.b) {
      break;
    }
  }
  if (t == terms_.size()) terms_.push_back(std::move(term));
  BoundedPoly result;
  result.poly.terms.push_back({static_cast<int>(t), 1});
  result.bounds = BoundsOf(result.poly);
  return result;
}

BoundedPoly TermTable::Var(int var) const {
  const Interval& bounds = terms_[var].bounds;
  if (bounds.hi == 0) return {Constant(0), bounds};
  BoundedPoly result;
  result.poly.terms.push_back({var, 1});
  result.bounds = bounds;
  return result;
}

BoundedPoly TermTable::Load(int node, const Vars& deps) {
  Term term;
  term.kind = Term::Kind::kLoad;
  term.load = node;
  term.deps = deps;
  term.data_dependent = true;
  return Intern(std::move(term));
}

BoundedPoly TermTable::Sum(const BoundedPoly& a, const BoundedPoly& b, int64_t scale) const {
  Poly poly = Add(a.poly, b.poly, scale);
  auto bounds = Intersect(Plus(a.bounds, Scaled(b.bounds, scale)), BoundsOf(poly));
  return {std::move(poly), bounds};
}

BoundedPoly TermTable::Product(const BoundedPoly& a, const BoundedPoly& b) {
  if (a.poly.is_const()) return {Scale(b.poly, a.poly.base), Scaled(b.bounds, a.poly.base)};
  if (b.poly.is_const()) return Product(b, a);
  Term term;
  term.kind = Term::Kind::kMul;
  term.a = a.poly;
  term.b = b.poly;
  if (auto bounds = Times(a.bounds, b.bounds)) {
    term.bounded = true;
    term.bounds = *bounds;
  }
  return Intern(std::move(term));
}

BoundedPoly TermTable::DivConst(const BoundedPoly& a, int64_t m) {
  if (a.bounds && FloorDivide(a.bounds->lo, m) == FloorDivide(a.bounds->hi, m)) {
    int64_t q = FloorDivide(a.bounds->lo, m);
    return {Constant(q), Interval{q, q}};
  }
  std::optional<Interval> bounds;
  if (a.bounds) bounds = Interval{FloorDivide(a.bounds->lo, m), FloorDivide(a.bounds->hi, m)};
  // (m * q + r) div m = q + r div m, with q the multiples of m among the terms.
  Poly q, r;
  q.base = FloorDivide(a.poly.base, m);
  r.base = a.poly.base - m * q.base;
  for (const auto& [t, c] : a.poly.terms) {
    if (c % m == 0) {
      q.terms.push_back({t, c / m});
    } else {
      r.terms.push_back({t, c});
    }
  }
  auto rest = BoundsOf(r);
  if (rest && FloorDivide(rest->lo, m) == FloorDivide(rest->hi, m)) {
    q.base += FloorDivide(rest->lo, m);
    return {q, Intersect(bounds, BoundsOf(q))};
  }
  Term term;
  term.kind = Term::Kind::kDiv;
  term.a = r;
  term.b = Constant(m);
  if (r.terms.size() == 1 && r.terms[0].second == 1) {
    const Term& inner = terms_[r.terms[0].first];
    if (inner.kind == Term::Kind::kDiv && inner.b.is_const()) {
      // (x div n + c) div m = (x + n * c) div (n * m).
      term.a = Add(inner.a, Constant(inner.b.base * r.base));
      term.b = Constant(inner.b.base * m);
    }
  }
  if (rest) {
    term.bounded = true;
    term.bounds = {FloorDivide(rest->lo, m), FloorDivide(rest->hi, m)};
  }
  BoundedPoly quotient = Intern(std::move(term));
  Poly sum = Add(q, quotient.poly);
  return {sum, Intersect(bounds, BoundsOf(sum))};
}

BoundedPoly TermTable::Div(const BoundedPoly& a, const BoundedPoly& b) {
  if (b.poly.is_const() && b.poly.base > 0) return DivConst(a, b.poly.base);
  Term term;
  term.kind = Term::Kind::kDiv;
  term.a = a.poly;
  term.b = b.poly;
  if (a.bounds && b.bounds && b.bounds->lo > 0) {
    term.bounded = true;
    term.bounds = {
        std::min(FloorDivide(a.bounds->lo, b.bounds->lo), FloorDivide(a.bounds->lo, b.bounds->hi)),
        std::max(FloorDivide(a.bounds->hi, b.bounds->lo), FloorDivide(a.bounds->hi, b.bounds->hi))};
  }
  return Intern(std::move(term));
}

BoundedPoly TermTable::Mod(const BoundedPoly& a, const BoundedPoly& b) {
  if (b.poly.is_const() && b.poly.base > 0) {
    int64_t m = b.poly.base;
    BoundedPoly result = Sum(a, DivConst(a, m), -m);
    result.bounds = Intersect(result.bounds, Interval{0, m - 1});
    return result;
  }
  Term term;
  term.kind = Term::Kind::kMod;
  term.a = a.poly;
  term.b = b.poly;
  if (b.bounds && b.bounds->lo > 0) {
    term.bounded = true;
    term.bounds = {0, b.bounds->hi - 1};
  }
  return Intern(std::move(term));
}

BoundedPoly TermTable::Extreme(Term::Kind kind, const BoundedPoly& a, const BoundedPoly& b) {
  bool min = kind == Term::Kind::kMin;
  auto difference = Sum(a, b, -1).bounds;  // a - b
  if (difference && difference->hi <= 0) return min ? a : b;
  if (difference && difference->lo >= 0) return min ? b : a;
  Term term;
  term.kind = kind;
  term.a = a.poly;
  term.b = b.poly;
  if (a.bounds && b.bounds) {
    term.bounded = true;
    if (min) {
      term.bounds = {std::min(a.bounds->lo, b.bounds->lo), std::min(a.bounds->hi, b.bounds->hi)};
    } else {
      term.bounds = {std::max(a.bounds->lo, b.bounds->lo), std::max(a.bounds->hi, b.bounds->hi)};
    }
  }
  return Intern(std::move(term));
}

}  // namespace loops
}  // namespace lemma
