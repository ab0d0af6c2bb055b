#include "graph/expr/affine.h"

namespace lemma {
namespace {

int64_t PlusProduct(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
}

}  // namespace

Affine Affine::Of(int64_t constant) {
  Affine a;
  a.base = constant;
  return a;
}

Affine Affine::OfVar(int var) {
  Affine a;
  a.terms.emplace_back(var, 1);
  return a;
}

int64_t Affine::CoefficientOf(int var) const {
  for (const auto& [v, c] : terms) {
    if (v == var) return c;
  }
  return 0;
}

Affine Sum(const Affine& a, const Affine& b, int64_t scale) {
  Affine sum = Affine::Of(PlusProduct(a.base, scale, b.base));
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const bool left =
        j == b.terms.size() || (i < a.terms.size() && a.terms[i].first <= b.terms[j].first);
    const bool right =
        i == a.terms.size() || (j < b.terms.size() && b.terms[j].first <= a.terms[i].first);
    const int var = left ? a.terms[i].first : b.terms[j].first;
    const int64_t coefficient =
        PlusProduct(left ? a.terms[i].second : 0, scale, right ? b.terms[j].second : 0);
    if (coefficient != 0) sum.terms.emplace_back(var, coefficient);
    i += left;
    j += right;
  }
  return sum;
}

Affine Scaled(const Affine& a, int64_t factor) { return Sum(Affine(), a, factor); }

std::optional<Affine> ToAffine(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return Affine::Of(e.value());
    case IndexExpr::Kind::kVar:
      return Affine::OfVar(e.var());
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul: {
      auto a = ToAffine(e.lhs());
      if (!a) return std::nullopt;
      auto b = ToAffine(e.rhs());
      if (!b) return std::nullopt;
      if (e.kind() == IndexExpr::Kind::kAdd) return Sum(*a, *b);
      if (a->is_const()) return Scaled(*b, a->base);
      if (b->is_const()) return Scaled(*a, b->base);
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

IndexExpr ToIndexExpr(const Affine& a) {
  IndexExpr e;
  for (const auto& [v, c] : a.terms) e = e + IndexExpr(c) * IndexExpr::Var(v);
  return e + a.base;
}

}  // namespace lemma
