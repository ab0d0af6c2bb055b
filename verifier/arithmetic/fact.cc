#include "verifier/arithmetic/fact.h"

#include <algorithm>

namespace lemma::prover {
int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Fact Negation(const Fact& fact) {
  switch (fact.kind) {
    case Fact::Kind::kGe:
      return Fact::Ge(Poly(-1) - fact.p);
    case Fact::Kind::kEq:
      return {Fact::Kind::kNe, fact.p};
    case Fact::Kind::kNe:
      return Fact::Eq(fact.p);
  }
  return fact;
}

Fact Normalized(const Fact& fact) {
  if (fact.p.overflowed() || fact.p.AsConst()) return fact;
  const int64_t constant = fact.p.ConstantTerm();
  const Poly rest = fact.p - constant;
  const int64_t content = ContentOf(rest);
  Fact result = fact;
  if (fact.kind == Fact::Kind::kGe) {
    if (content > 1) result.p = *ExactQuotient(rest, content) + FloorDivide(constant, content);
    return result;
  }
  if (content > 1) {
    if (constant % content != 0) {
      result.p = Poly(1);  // never 0
      return result;
    }
    result.p = *ExactQuotient(fact.p, content);
  }
  if (result.p.terms().back().second < 0) result.p = -result.p;
  return result;
}

uint64_t HashOf(const Facts& facts) {
  uint64_t hash = facts.size();
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (const Fact& fact : facts) {
    mix(static_cast<uint64_t>(fact.kind));
    for (const auto& [m, c] : fact.p.terms()) {
      for (Leaf leaf : m) mix(static_cast<uint64_t>(leaf) + 7);
      mix(static_cast<uint64_t>(c));
    }
  }
  return hash;
}

LowerBounds::LowerBounds(const Facts& facts) {
  for (const Fact& fact : facts) {
    const Poly rest = fact.p - fact.p.ConstantTerm();
    if (rest.terms().size() != 1 || rest.terms()[0].first.size() != 1) continue;
    const auto& [m, c] = rest.terms()[0];
    int64_t bound = -fact.p.ConstantTerm();
    if (fact.kind == Fact::Kind::kNe || (fact.kind == Fact::Kind::kGe && c != 1)) continue;
    if (fact.kind == Fact::Kind::kEq) {
      if (bound % c != 0) continue;
      bound /= c;
    }
    low_.emplace_back(m[0], bound);
  }
  // Keeps the greatest bound of each leaf.
  std::sort(low_.begin(), low_.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  low_.erase(std::unique(low_.begin(), low_.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; }),
             low_.end());
}

const int64_t* LowerBounds::Find(Leaf leaf) const {
  auto it = std::lower_bound(low_.begin(), low_.end(), leaf,
                             [](const auto& bound, Leaf l) { return bound.first < l; });
  return it != low_.end() && it->first == leaf ? &it->second : nullptr;
}

bool LowerBounds::ShowNonNegative(const Poly& p) const {
  if (p.overflowed()) return false;
  Poly shifted;
  for (const auto& [m, c] : p.terms()) {
    Poly product = c;
    for (Leaf leaf : m) {
      const int64_t* low = Find(leaf);
      product = product * (low == nullptr ? Poly::Of(leaf) : Poly::Of(leaf) + *low);
    }
    shifted = shifted + product;
  }
  if (shifted.overflowed()) return false;
  for (const auto& [m, c] : shifted.terms()) {
    if (c < 0) return false;
    for (Leaf leaf : m) {
      // Does not look for squares of unbounded leaves.
      if (Find(leaf) == nullptr) return false;
    }
  }
  return true;
}

bool LowerBounds::ShowSum(const Facts& facts, const Poly& p) const {
  int budget = 60;
  return ShowSum(facts, p, 4, &budget);
}

bool LowerBounds::ShowSum(const Facts& facts, const Poly& p, int depth, int* budget) const {
  if (p.overflowed() || --*budget < 0) return false;
  if (ShowNonNegative(p)) return true;
  if (depth == 0) return false;
  // The last negative term must cancel, and so must a term of unknown sign.
  for (auto term = p.terms().rbegin(); term != p.terms().rend(); ++term) {
    const auto& [m, c] = *term;
    const bool bounded =
        std::all_of(m.begin(), m.end(), [&](Leaf leaf) { return Find(leaf) != nullptr; });
    if (m.empty() || (c > 0 && bounded)) continue;
    for (const Fact& fact : facts) {
      if (fact.kind == Fact::Kind::kNe || fact.p.overflowed()) continue;
      for (const auto& [part, d] : fact.p.terms()) {
        if (part.empty() || c % d != 0) continue;
        if (fact.kind == Fact::Kind::kGe && c / d < 0) continue;
        auto factor = Quotient(m, part);
        if (!factor) continue;
        if (fact.kind == Fact::Kind::kGe &&
            !std::all_of(factor->begin(), factor->end(),
                         [&](Leaf leaf) { return AtLeast(leaf, 0); })) {
          continue;
        }
        if (ShowSum(facts, p - fact.p * Poly::Of(*factor, c / d), depth - 1, budget)) return true;
      }
    }
    return false;
  }
  return false;
}

}  // namespace lemma::prover
