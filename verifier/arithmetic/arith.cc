#include "verifier/arithmetic/arith.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "base/work.h"

namespace lemma::prover {
Facts Arith::Relevant(const Facts& context, const Poly& goal) {
  const std::vector<Leaf> reached = leaves_.DepsOf(goal);
  absl::flat_hash_set<Leaf> seen(reached.begin(), reached.end());
  std::vector<bool> taken(context.size(), false);
  Facts result;
  for (bool more = true; more;) {
    more = false;
    SpendWork(static_cast<int64_t>(context.size()));
    for (size_t i = 0; i < context.size(); ++i) {
      if (taken[i]) continue;
      bool touches = false;
      leaves_.ForEachDep(context[i].p, [&](Leaf d) { touches = touches || seen.contains(d); });
      if (!touches) continue;
      taken[i] = true;
      more = true;
      leaves_.ForEachDep(context[i].p, [&](Leaf d) { seen.insert(d); });
    }
  }
  for (size_t i = 0; i < context.size(); ++i) {
    if (taken[i]) result.push_back(context[i]);
  }
  return result;
}

bool Arith::Implied(const Facts& context, const Fact& given, Effort effort) {
  const Fact goal = Normalized(given);
  if (goal.p.overflowed()) return false;
  if (auto c = goal.p.AsConst()) {
    switch (goal.kind) {
      case Fact::Kind::kGe:
        if (*c >= 0) return true;
        break;
      case Fact::Kind::kEq:
        if (*c == 0) return true;
        break;
      case Fact::Kind::kNe:
        if (*c != 0) return true;
        break;
    }
    // Only a contradictory context would imply it. Contradictions are not searched here.
    return false;
  }
  SpendWork(static_cast<int64_t>(context.size()));
  for (const Fact& fact : context) {
    if (fact == goal) return true;
    if (goal.kind == Fact::Kind::kGe && fact.kind == Fact::Kind::kGe) {
      auto slack = (goal.p - fact.p).AsConst();
      if (slack && *slack >= 0) return true;
    }
  }
  if (goal.kind == Fact::Kind::kGe && LowerBounds(context).ShowNonNegative(goal.p)) {
    return true;
  }
  if (effort == Effort::kSyntax) return false;
  if (goal.kind == Fact::Kind::kEq) {
    return Implied(context, Fact::Ge(goal.p), effort) &&
           Implied(context, Fact::Ge(-goal.p), effort);
  }
  Facts facts = Relevant(context, goal.p);
  const bool is_sum = goal.kind == Fact::Kind::kGe && LowerBounds(facts).ShowSum(facts, goal.p);
  if (is_sum && log == nullptr) return true;
  facts.push_back(Negation(goal));
  return Ask(facts, leaves_.ToString(goal.p), effort) || is_sum;
}

bool Arith::Unsatisfiable(const Facts& context, Effort effort) {
  for (const Fact& fact : context) {
    auto c = Normalized(fact).p.AsConst();
    if (!c) continue;
    if (fact.kind == Fact::Kind::kGe && *c < 0) return true;
    if (fact.kind == Fact::Kind::kEq && *c != 0) return true;
    if (fact.kind == Fact::Kind::kNe && *c == 0) return true;
  }
  if (context.empty() || effort == Effort::kSyntax) return false;
  Facts facts = context;
  facts.push_back(Fact::Ge(0));
  return Ask(facts, "empty", effort);
}

bool Arith::Contradicts(const Facts& context, const Facts& facts, Effort effort) {
  Poly seeds;
  for (const Fact& fact : facts) {
    for (Leaf leaf : leaves_.DepsOf(fact.p)) {
      if (seeds.CoefficientOf({leaf}) == 0) seeds = seeds + Poly::Of(leaf);
    }
  }
  Facts all = context;
  all.insert(all.end(), facts.begin(), facts.end());
  Facts relevant = Relevant(all, seeds);
  for (const Fact& fact : facts) {
    if (fact.p.AsConst()) relevant.push_back(fact);
  }
  return Unsatisfiable(relevant, effort);
}

bool Arith::Equal(const Facts& context, const Poly& a, const Poly& b, Effort effort) {
  return a == b || Implied(context, Fact::Eq(a - b), effort);
}

std::optional<Poly> Arith::SimplifyDiv(const Facts& context, const Poly& a, const Poly& b) {
  if (!Positive(context, b)) return std::nullopt;
  // (x div y) div b = x div (y*b).
  if (a.terms().size() == 1 && a.terms()[0].first.size() == 1 && a.terms()[0].second == 1) {
    const LeafInfo info = leaves_.Info(a.terms()[0].first[0]);
    if (info.kind == LeafInfo::Kind::kDiv && Positive(context, info.b)) {
      return leaves_.Div(info.a, info.b * b);
    }
  }
  // a = q*b + r with r a digit: the quotient is q.
  auto split_by = [&](const Poly& divisor) -> std::optional<std::pair<Poly, Poly>> {
    if (divisor.terms().size() != 1) return std::nullopt;
    const auto& [lead, coefficient] = divisor.terms()[0];
    Poly q, r;
    for (const auto& [m, c] : a.terms()) {
      auto rest = Quotient(m, lead);
      if (rest && c % coefficient == 0) {
        q = q + Poly::Of(*rest, c / coefficient);
      } else {
        r = r + Poly::Of(m, c);
      }
    }
    return std::make_pair(q, r);
  };
  if (auto whole = split_by(b)) {
    if (IsDigit(context, whole->second, b)) return whole->first;
  } else if (IsDigit(context, a, b)) {
    return Poly(0);
  } else {
    // Division by one of b's terms; (f*x + r) div (f*k) = x div k for a digit r of f = b/k.
    const int64_t content = ContentOf(b);
    for (int64_t k = 1; k <= std::min<int64_t>(content, 64); ++k) {
      if (content % k != 0) continue;
      const Poly f = *ExactQuotient(b, k);
      for (const auto& [lead, coefficient] : f.terms()) {
        if (lead.empty()) continue;
        Poly x;
        for (const auto& [m, c] : a.terms()) {
          auto rest = Quotient(m, lead);
          if (rest && c % coefficient == 0) x = x + Poly::Of(*rest, c / coefficient);
        }
        if (!x.IsZero() && IsDigit(context, a - x * f, f)) return k == 1 ? x : leaves_.Div(x, k);
      }
    }
  }
  // (f*x + r) div (f*y) = x div y for a digit r of f.
  if (b.terms().size() >= 1) {
    std::vector<Poly> factors;
    const Monomial common = CommonMonomial(b);
    for (Leaf leaf : common) factors.push_back(Poly::Of(leaf));
    if (int64_t content = ContentOf(b); content > 1) {
      if (common.empty()) {
        for (int64_t f = content; f > 1; --f) {
          if (content % f == 0) factors.push_back(f);
        }
      } else {
        factors.push_back(content);
      }
    }
    if (common.size() > 1) factors.insert(factors.begin(), Poly::Of(common, 1));
    for (const Poly& f : factors) {
      auto parts = split_by(f);
      if (!parts || parts->first.IsZero() || !Positive(context, f)) continue;
      if (parts->first.AsConst() && !parts->second.IsZero()) continue;
      if (!IsDigit(context, parts->second, f)) continue;
      auto y = ExactQuotient(b, f);
      if (!y || *y == b) continue;
      Poly quotient = leaves_.Div(parts->first, *y);
      return quotient;
    }
  }
  return std::nullopt;
}

Poly Arith::SimplifyDivs(const Facts& context, const Poly& p) {
  Poly current = p;
  for (int round = 0; round < 12; ++round) {
    std::set<Leaf> divs;
    for (const auto& [m, c] : current.terms()) {
      for (Leaf leaf : m) {
        if (!leaves_.IsBase(leaf)) divs.insert(leaf);
      }
    }
    bool changed = false;
    for (Leaf leaf : divs) {
      const LeafInfo info = leaves_.Info(leaf);
      Poly replacement = Poly::Of(leaf);
      if (info.kind == LeafInfo::Kind::kDiv) {
        const Poly a = SimplifyDivs(context, info.a), b = SimplifyDivs(context, info.b);
        if (a != info.a || b != info.b) {
          replacement = leaves_.Div(a, b);
        } else if (auto simpler = SimplifyDiv(context, a, b)) {
          replacement = *simpler;
        }
      } else if (info.kind != LeafInfo::Kind::kLoad) {
        const bool is_min = info.kind == LeafInfo::Kind::kMin;
        const Poly a = SimplifyDivs(context, info.a), b = SimplifyDivs(context, info.b);
        if (NonNegative(context, b - a)) {
          replacement = is_min ? a : b;
        } else if (NonNegative(context, a - b)) {
          replacement = is_min ? b : a;
        } else if (a != info.a || b != info.b) {
          replacement = is_min ? leaves_.Min(a, b) : leaves_.Max(a, b);
        }
      }
      if (replacement == Poly::Of(leaf)) continue;
      Poly next;
      for (const auto& [m, c] : current.terms()) {
        Poly product = c;
        for (Leaf l : m) product = product * (l == leaf ? replacement : Poly::Of(l));
        next = next + product;
      }
      current = next;
      changed = true;
      break;
    }
    if (!changed) break;
  }
  return current;
}

// b*e + r >= 0 is e >= 0 for a digit r of b.
Fact Arith::SimplifyFact(const Facts& context, const Fact& given) {
  Fact fact = Normalized({given.kind, SimplifyDivs(context, given.p)});
  if (fact.p.AsConst() || fact.p.overflowed()) return fact;
  for (int round = 0; round < 4; ++round) {
    std::set<Leaf> factors;
    for (const auto& [m, c] : fact.p.terms()) {
      if (m.size() >= 2) factors.insert(m.begin(), m.end());
    }
    if (fact.p.terms().size() == 1) {
      for (const auto& [m, c] : fact.p.terms()) factors.insert(m.begin(), m.end());
    }
    std::vector<Poly> candidates;
    for (Leaf factor : factors) candidates.push_back(Poly::Of(factor));
    for (const auto& [m, c] : fact.p.terms()) {
      if (c > 1 || c < -1) candidates.push_back(c < 0 ? -c : c);
    }
    bool changed = false;
    for (const Poly& b : candidates) {
      Poly e, r;
      for (const auto& [m, c] : fact.p.terms()) {
        auto rest = Quotient(m, b.terms()[0].first);
        if (rest && c % b.terms()[0].second == 0) {
          e = e + Poly::Of(*rest, c / b.terms()[0].second);
        } else {
          r = r + Poly::Of(m, c);
        }
      }
      if (e.IsZero() || !Positive(context, b)) continue;
      if (fact.kind == Fact::Kind::kGe) {
        // r may be a digit after a multiple of b has moved to e.
        bool found = IsDigit(context, r, b);
        if (!found && IsDigit(context, r + b, b)) {
          found = true;
          e = e - 1;
        }
        if (!found) continue;
        fact = Normalized(Fact::Ge(e));
      } else if (r.IsZero()) {
        fact = Normalized({fact.kind, e});
      } else {
        continue;
      }
      changed = true;
      break;
    }
    if (!changed || fact.p.AsConst()) break;
  }
  return fact;
}

}  // namespace lemma::prover
