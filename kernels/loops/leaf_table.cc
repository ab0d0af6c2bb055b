#include "kernels/loops/leaf_table.h"

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

std::optional<Interval> Intersect(const std::optional<Interval>& a,
                                  const std::optional<Interval>& b) {
  if (!a) return b;
  if (!b) return a;
  return Interval{std::max(a->lo, b->lo), std::min(a->hi, b->hi)};
}

void LeafTable::AddVar(int64_t extent) {
  IndexLeaf leaf;
  leaf.var = static_cast<int>(leaves_.size());
  leaf.deps.set(leaf.var);
  leaves_.push_back(std::move(leaf));
  SetExtent(leaves_.back().var, extent);
}

void LeafTable::SetExtent(int var, int64_t extent) {
  leaves_[var].bounded = true;
  leaves_[var].bounds = {0, std::max<int64_t>(extent - 1, 0)};
}

std::optional<Interval> LeafTable::BoundsOf(const Affine& p) const {
  std::optional<Interval> sum = Interval{p.base, p.base};
  for (const auto& [t, c] : p.terms) {
    if (!leaves_[t].bounded) return std::nullopt;
    sum = Plus(sum, Scaled(leaves_[t].bounds, c));
  }
  return sum;
}

Vars LeafTable::DepsOf(const Affine& p) const {
  Vars deps;
  for (const auto& term : p.terms) deps |= leaves_[term.first].deps;
  return deps;
}

bool LeafTable::DataDependent(const Affine& p) const {
  return std::any_of(p.terms.begin(), p.terms.end(),
                     [this](const auto& term) { return leaves_[term.first].data_dependent; });
}

BoundedAffine LeafTable::Intern(IndexLeaf leaf) {
  leaf.deps = DepsOf(leaf.a) | DepsOf(leaf.b) | leaf.deps;
  leaf.data_dependent = leaf.data_dependent || DataDependent(leaf.a) || DataDependent(leaf.b);
  size_t t = 0;
  for (; t < leaves_.size(); ++t) {
    const IndexLeaf& other = leaves_[t];
    if (other.kind == leaf.kind && other.var == leaf.var && other.load == leaf.load &&
        other.a == leaf.a && other.b == leaf.b) {
      break;
    }
  }
  if (t == leaves_.size()) leaves_.push_back(std::move(leaf));
  BoundedAffine result;
  result.affine.terms.push_back({static_cast<int>(t), 1});
  result.bounds = BoundsOf(result.affine);
  return result;
}

BoundedAffine LeafTable::Var(int var) const {
  const Interval& bounds = leaves_[var].bounds;
  if (bounds.hi == 0) return {Affine::Of(0), bounds};
  BoundedAffine result;
  result.affine.terms.push_back({var, 1});
  result.bounds = bounds;
  return result;
}

BoundedAffine LeafTable::Load(int node, const Vars& deps) {
  IndexLeaf leaf;
  leaf.kind = IndexLeaf::Kind::kLoad;
  leaf.load = node;
  leaf.deps = deps;
  leaf.data_dependent = true;
  return Intern(std::move(leaf));
}

BoundedAffine LeafTable::Sum(const BoundedAffine& a, const BoundedAffine& b, int64_t scale) const {
  Affine affine = lemma::Sum(a.affine, b.affine, scale);
  auto bounds = Intersect(Plus(a.bounds, Scaled(b.bounds, scale)), BoundsOf(affine));
  return {std::move(affine), bounds};
}

BoundedAffine LeafTable::Product(const BoundedAffine& a, const BoundedAffine& b) {
  if (a.affine.is_const())
    return {Scaled(b.affine, a.affine.base), Scaled(b.bounds, a.affine.base)};
  if (b.affine.is_const()) return Product(b, a);
  IndexLeaf leaf;
  leaf.kind = IndexLeaf::Kind::kMul;
  leaf.a = a.affine;
  leaf.b = b.affine;
  if (auto bounds = Times(a.bounds, b.bounds)) {
    leaf.bounded = true;
    leaf.bounds = *bounds;
  }
  return Intern(std::move(leaf));
}

BoundedAffine LeafTable::DivConst(const BoundedAffine& a, int64_t m) {
  if (a.bounds && FloorDivide(a.bounds->lo, m) == FloorDivide(a.bounds->hi, m)) {
    int64_t q = FloorDivide(a.bounds->lo, m);
    return {Affine::Of(q), Interval{q, q}};
  }
  std::optional<Interval> bounds;
  if (a.bounds) bounds = Interval{FloorDivide(a.bounds->lo, m), FloorDivide(a.bounds->hi, m)};
  // (m * q + r) div m = q + r div m, with q the multiples of m among the terms.
  Affine q, r;
  q.base = FloorDivide(a.affine.base, m);
  r.base = a.affine.base - m * q.base;
  for (const auto& [t, c] : a.affine.terms) {
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
  IndexLeaf leaf;
  leaf.kind = IndexLeaf::Kind::kDiv;
  leaf.a = r;
  leaf.b = Affine::Of(m);
  if (r.terms.size() == 1 && r.terms[0].second == 1) {
    const IndexLeaf& inner = leaves_[r.terms[0].first];
    if (inner.kind == IndexLeaf::Kind::kDiv && inner.b.is_const()) {
      // (x div n + c) div m = (x + n * c) div (n * m).
      leaf.a = lemma::Sum(inner.a, Affine::Of(inner.b.base * r.base));
      leaf.b = Affine::Of(inner.b.base * m);
    }
  }
  if (rest) {
    leaf.bounded = true;
    leaf.bounds = {FloorDivide(rest->lo, m), FloorDivide(rest->hi, m)};
  }
  BoundedAffine quotient = Intern(std::move(leaf));
  Affine sum = lemma::Sum(q, quotient.affine);
  return {sum, Intersect(bounds, BoundsOf(sum))};
}

BoundedAffine LeafTable::Div(const BoundedAffine& a, const BoundedAffine& b) {
  if (b.affine.is_const() && b.affine.base > 0) return DivConst(a, b.affine.base);
  IndexLeaf leaf;
  leaf.kind = IndexLeaf::Kind::kDiv;
  leaf.a = a.affine;
  leaf.b = b.affine;
  if (a.bounds && b.bounds && b.bounds->lo > 0) {
    leaf.bounded = true;
    leaf.bounds = {
        std::min(FloorDivide(a.bounds->lo, b.bounds->lo), FloorDivide(a.bounds->lo, b.bounds->hi)),
        std::max(FloorDivide(a.bounds->hi, b.bounds->lo), FloorDivide(a.bounds->hi, b.bounds->hi))};
  }
  return Intern(std::move(leaf));
}

BoundedAffine LeafTable::Mod(const BoundedAffine& a, const BoundedAffine& b) {
  if (b.affine.is_const() && b.affine.base > 0) {
    int64_t m = b.affine.base;
    BoundedAffine result = Sum(a, DivConst(a, m), -m);
    result.bounds = Intersect(result.bounds, Interval{0, m - 1});
    return result;
  }
  IndexLeaf leaf;
  leaf.kind = IndexLeaf::Kind::kMod;
  leaf.a = a.affine;
  leaf.b = b.affine;
  if (b.bounds && b.bounds->lo > 0) {
    leaf.bounded = true;
    leaf.bounds = {0, b.bounds->hi - 1};
  }
  return Intern(std::move(leaf));
}

BoundedAffine LeafTable::Extreme(IndexLeaf::Kind kind, const BoundedAffine& a,
                                 const BoundedAffine& b) {
  bool min = kind == IndexLeaf::Kind::kMin;
  auto difference = Sum(a, b, -1).bounds;  // a - b
  if (difference && difference->hi <= 0) return min ? a : b;
  if (difference && difference->lo >= 0) return min ? b : a;
  IndexLeaf leaf;
  leaf.kind = kind;
  leaf.a = a.affine;
  leaf.b = b.affine;
  if (a.bounds && b.bounds) {
    leaf.bounded = true;
    if (min) {
      leaf.bounds = {std::min(a.bounds->lo, b.bounds->lo), std::min(a.bounds->hi, b.bounds->hi)};
    } else {
      leaf.bounds = {std::max(a.bounds->lo, b.bounds->lo), std::max(a.bounds->hi, b.bounds->hi)};
    }
  }
  return Intern(std::move(leaf));
}

}  // namespace loops
}  // namespace lemma
