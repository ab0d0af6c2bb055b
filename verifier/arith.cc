#include "verifier/arith.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace lemma::verify {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace

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
      result.p = fact.kind == Fact::Kind::kEq ? Poly(1) : Poly(1);  // never 0
      return result;
    }
    result.p = *ExactQuotient(fact.p, content);
  }
  if (result.p.terms().back().second < 0) result.p = -result.p;
  return result;
}

// Lower bounds of leaves, from facts that are bounds of one leaf.
struct Arith::Bounds {
  std::map<Leaf, int64_t> low;
  explicit Bounds(const Facts& facts) {
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
      auto [it, added] = low.emplace(m[0], bound);
      if (!added) it->second = std::max(it->second, bound);
    }
  }
  bool NonNegative(Leaf leaf) const {
    auto it = low.find(leaf);
    return it != low.end() && it->second >= 0;
  }
};

// p >= 0 since all coefficients are, once each leaf is written as its lower bound plus something.
bool Arith::SyntacticallyNonNegative(const Bounds& bounds, const Poly& p) {
  if (p.overflowed()) return false;
  Poly shifted;
  for (const auto& [m, c] : p.terms()) {
    Poly product = c;
    for (Leaf leaf : m) {
      auto it = bounds.low.find(leaf);
      product = product * (it == bounds.low.end() ? Poly::Of(leaf) : Poly::Of(leaf) + it->second);
    }
    shifted = shifted + product;
  }
  if (shifted.overflowed()) return false;
  for (const auto& [m, c] : shifted.terms()) {
    if (c < 0) return false;
    for (Leaf leaf : m) {
      // A square of something unbounded is not looked for.
      if (bounds.low.find(leaf) == bounds.low.end()) return false;
    }
  }
  return true;
}

Facts Arith::Relevant(const Facts& context, const Poly& goal) {
  std::vector<Leaf> reached = leaves_.DepsOf(goal);
  std::set<Leaf> seen(reached.begin(), reached.end());
  std::vector<bool> taken(context.size(), false);
  Facts result;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < context.size(); ++i) {
      if (taken[i]) continue;
      const std::vector<Leaf> deps = leaves_.DepsOf(context[i].p);
      const bool touches =
          std::any_of(deps.begin(), deps.end(), [&](Leaf d) { return seen.count(d) > 0; });
      if (!touches) continue;
      taken[i] = true;
      more = true;
      seen.insert(deps.begin(), deps.end());
    }
  }
  for (size_t i = 0; i < context.size(); ++i) {
    if (taken[i]) result.push_back(context[i]);
  }
  return result;
}

void Arith::Define(Facts* facts, Facts* rest, int depth) {
  std::set<Leaf> done;
  for (size_t next = 0; next < facts->size(); ++next) {
    std::vector<Leaf> found;
    for (const auto& [m, c] : (*facts)[next].p.terms()) {
      for (Leaf leaf : m) {
        if (!leaves_.IsBase(leaf) && done.insert(leaf).second) found.push_back(leaf);
      }
    }
    for (Leaf leaf : found) {
      const LeafInfo info = leaves_.Info(leaf);
      const Poly x = Poly::Of(leaf);
      if (info.kind == LeafInfo::Kind::kDiv) {
        // Without a positive divisor the two inequalities would contradict each other.
        if (depth > 3 || !Positive(*rest, info.b, Effort::kLinear)) continue;
        const Poly remainder = info.a - info.b * x;
        facts->push_back(Fact::Ge(remainder));
        facts->push_back(Fact::Ge(info.b - 1 - remainder));
        if (NonNegative(*rest, info.a, Effort::kSyntax)) facts->push_back(Fact::Ge(x));
      } else if (info.kind == LeafInfo::Kind::kMin) {
        facts->push_back(Fact::Ge(info.a - x));
        facts->push_back(Fact::Ge(info.b - x));
        facts->push_back(Fact::Eq((info.a - x) * (info.b - x)));
      } else if (info.kind == LeafInfo::Kind::kMax) {
        facts->push_back(Fact::Ge(x - info.a));
        facts->push_back(Fact::Ge(x - info.b));
        facts->push_back(Fact::Eq((x - info.a) * (x - info.b)));
      }
    }
  }
}

std::string Arith::Script(const Facts& facts, bool nonlinear) {
  std::vector<std::string> lines;
  std::map<Leaf, int> names;
  std::map<Monomial, int> monomials;
  auto leaf_name = [&](Leaf leaf) {
    return absl::StrCat("x", names.emplace(leaf, names.size()).first->second);
  };
  auto monomial_text = [&](const Monomial& m) -> std::string {
    if (m.size() == 1) return leaf_name(m[0]);
    if (!nonlinear) return absl::StrCat("m", monomials.emplace(m, monomials.size()).first->second);
    std::string product = "(*";
    for (Leaf leaf : m) absl::StrAppend(&product, " ", leaf_name(leaf));
    return product + ")";
  };
  auto number = [](int64_t c) {
    if (c >= 0) return absl::StrCat(c);
    return absl::StrCat("(- ", absl::StrCat(c).substr(1), ")");
  };
  auto text = [&](const Poly& p) {
    std::string sum = "(+ 0";
    for (const auto& [m, c] : p.terms()) {
      if (m.empty()) {
        absl::StrAppend(&sum, " ", number(c));
      } else if (c == 1) {
        absl::StrAppend(&sum, " ", monomial_text(m));
      } else {
        absl::StrAppend(&sum, " (* ", number(c), " ", monomial_text(m), ")");
      }
    }
    return sum + ")";
  };
  std::string body;
  for (const Fact& fact : facts) {
    const std::string p = text(fact.p);
    if (fact.kind == Fact::Kind::kGe) absl::StrAppend(&body, "(assert (>= ", p, " 0))\n");
    if (fact.kind == Fact::Kind::kEq) absl::StrAppend(&body, "(assert (= ", p, " 0))\n");
    if (fact.kind == Fact::Kind::kNe) absl::StrAppend(&body, "(assert (not (= ", p, " 0)))\n");
  }
  std::string script = nonlinear ? "(set-logic QF_NIA)\n" : "(set-logic QF_LIA)\n";
  for (size_t i = 0; i < names.size(); ++i)
    absl::StrAppend(&script, "(declare-const x", i, " Int)\n");
  for (size_t i = 0; i < monomials.size(); ++i) {
    absl::StrAppend(&script, "(declare-const m", i, " Int)\n");
  }
  return script + body;
}

namespace {

constexpr size_t kMaxFacts = 250;

// Products of facts with non-negative leaves, where they speak of monomials that occur.
void AddProducts(Facts* facts, const std::function<bool(Leaf)>& nonnegative,
                 const std::function<bool(Leaf)>& positive) {
  std::set<Monomial> wanted;
  for (const Fact& fact : *facts) {
    for (const auto& [m, c] : fact.p.terms()) {
      if (m.size() >= 2) wanted.insert(m);
    }
  }
  // A fact times what is missing from one of its monomials to one that is wanted.
  std::set<std::pair<size_t, Monomial>> done;
  const size_t original = facts->size();
  const std::set<Monomial> first = wanted;
  for (const Monomial& m : first) {
    for (size_t i = 0; i < original && facts->size() < kMaxFacts; ++i) {
      const Fact fact = (*facts)[i];
      if (fact.kind == Fact::Kind::kNe || fact.p.Degree() > 4) continue;
      for (const auto& [part, c] : fact.p.terms()) {
        if (part.empty() || part.size() >= m.size()) continue;
        auto factor = Quotient(m, part);
        if (!factor || factor->size() > 3) continue;
        if (fact.kind == Fact::Kind::kGe &&
            !std::all_of(factor->begin(), factor->end(), nonnegative)) {
          continue;
        }
        if (!done.insert({i, *factor}).second) continue;
        Fact product{fact.kind, fact.p * Poly::Of(*factor, 1)};
        for (const auto& [pm, pc] : product.p.terms()) {
          if (pm.size() >= 2) wanted.insert(pm);
        }
        facts->push_back(std::move(product));
      }
    }
  }
  for (const Monomial& m : wanted) {
    if (!std::all_of(m.begin(), m.end(), nonnegative)) continue;
    facts->push_back(Fact::Ge(Poly::Of(m, 1)));
    std::set<Leaf> factors(m.begin(), m.end());
    for (Leaf factor : factors) {
      if (positive(factor)) {
        facts->push_back(Fact::Ge(Poly::Of(m, 1) - Poly::Of(*Without(m, factor), 1)));
      }
    }
  }
}

}  // namespace

bool Arith::Ask(const Facts& given, const std::string& what, Effort effort) {
  Facts facts = given;
  for (const Fact& fact : facts) {
    if (fact.p.overflowed()) return false;
  }
  auto [memo, added] = answers_.emplace(std::make_pair(given, static_cast<int>(effort)), Answer());
  if (!added) {
    if (memo->second.holds && log != nullptr) log->push_back({what, memo->second.script});
    return memo->second.holds;
  }
  // Nested questions may add answers; those of a map stay where they are.
  Answer* remembered = &memo->second;
  ++depth_;
  Facts rest(given.begin(), given.end() - 1);  // without the goal
  Define(&facts, &rest, depth_);
  --depth_;
  Facts nonlinear = facts;
  const Bounds bounds(facts);
  AddProducts(
      &facts, [&](Leaf leaf) { return bounds.NonNegative(leaf); },
      [&](Leaf leaf) {
        auto it = bounds.low.find(leaf);
        return it != bounds.low.end() && it->second >= 1;
      });
  for (const Fact& fact : facts) {
    if (fact.p.overflowed()) return false;
  }
  std::sort(facts.begin(), facts.end());
  facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
  std::string script = Script(facts, false);
  Satisfiable answer = solver_.Check(script, rlimit);
  const bool products = script.find("(declare-const m") != std::string::npos;
  if (answer != Satisfiable::kNo && products && effort == Effort::kFull) {
    std::sort(nonlinear.begin(), nonlinear.end());
    nonlinear.erase(std::unique(nonlinear.begin(), nonlinear.end()), nonlinear.end());
    script = Script(nonlinear, true);
    answer = solver_.Check(script, rlimit);
  }
  if (answer != Satisfiable::kNo) return false;
  if (log != nullptr) log->push_back({what, script});
  remembered->holds = true;
  remembered->script = std::move(script);
  return true;
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
    // Only a contradictory context implies it; that is not what is being asked.
    return false;
  }
  for (const Fact& fact : context) {
    if (fact == goal) return true;
    if (goal.kind == Fact::Kind::kGe && fact.kind == Fact::Kind::kGe) {
      auto slack = (goal.p - fact.p).AsConst();
      if (slack && *slack >= 0) return true;
    }
  }
  if (goal.kind == Fact::Kind::kGe && SyntacticallyNonNegative(Bounds(context), goal.p)) {
    return true;
  }
  if (effort == Effort::kSyntax) return false;
  if (goal.kind == Fact::Kind::kEq) {
    return Implied(context, Fact::Ge(goal.p), effort) &&
           Implied(context, Fact::Ge(-goal.p), effort);
  }
  Facts facts = Relevant(context, goal.p);
  facts.push_back(Negation(goal));
  return Ask(facts, leaves_.ToString(goal.p), effort);
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

}  // namespace lemma::verify
