#include "verifier/normal_form/normalize.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/work.h"

namespace lemma::prover {

Facts With(const Facts& facts, const Facts& more) {
  Facts all = facts;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

namespace {

Facts Others(const Facts& facts, size_t i) {
  Facts rest = facts;
  rest.erase(rest.begin() + i);
  return rest;
}

}  // namespace

NormalForm Normalizer::Simplify(const NormalForm& form, const Facts& context) {
  NormalForm result;
  for (const Summand& term : form.terms) SimplifyTerm(term, context, &result.terms);
  return Combine(std::move(result));
}

NormalForm Normalizer::Combine(NormalForm form) {
  NormalForm result;
  std::map<std::string, size_t> seen;
  for (Summand& term : form.terms) {
    auto [it, added] = seen.emplace(forms_.Key(term, false), result.terms.size());
    if (added) {
      result.terms.push_back(std::move(term));
      continue;
    }
    Summand& other = result.terms[it->second];
    // Coefficients that mention axes are not comparable: the axes have different numbers.
    bool own = false;
    for (Leaf axis : term.axes) own = own || leaves_.Mentions(term.coefficient, axis);
    for (Leaf axis : other.axes) own = own || leaves_.Mentions(other.coefficient, axis);
    int64_t common = 0;
    if (own || __builtin_mul_overflow(
                   term.denominator,
                   other.denominator / std::gcd(term.denominator, other.denominator), &common)) {
      result.terms.push_back(std::move(term));
      continue;
    }
    other.coefficient = other.coefficient * (common / other.denominator) +
                        term.coefficient * (common / term.denominator);
    other.denominator = common;
  }
  NormalForm nonzero;
  for (Summand& term : result.terms) {
    if (term.coefficient.IsZero()) continue;
    if (!term.coefficient.overflowed()) {
      const int64_t g = std::gcd(ContentOf(term.coefficient), term.denominator);
      term.coefficient = *ExactQuotient(term.coefficient, g);
      term.denominator /= g;
    }
    nonzero.terms.push_back(std::move(term));
  }
  return nonzero;
}

Normalizer::Change Normalizer::Guards(Summand* term, const Facts& context) {
  Facts kept;
  for (const Fact& given : term->guards) {
    Fact fact = Normalized(given);
    if (auto c = fact.p.AsConst()) {
      const bool holds = fact.kind == Fact::Kind::kGe   ? *c >= 0
                         : fact.kind == Fact::Kind::kEq ? *c == 0
                                                        : *c != 0;
      if (!holds) return Change::kGone;
      continue;
    }
    kept.push_back(std::move(fact));
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].kind != Fact::Kind::kGe) continue;
    for (size_t j = i + 1; j < kept.size(); ++j) {
      if (kept[j].kind == Fact::Kind::kGe && kept[j].p == -kept[i].p) {
        kept[i] = Normalized(Fact::Eq(kept[i].p));
        kept.erase(kept.begin() + j);
        break;
      }
    }
  }
  term->guards = std::move(kept);
  bool changed = false;
  for (size_t i = 0; i < term->guards.size(); ++i) {
    Fact simpler = arith_.SimplifyFact(With(context, Others(term->guards, i)), term->guards[i]);
    if (simpler == term->guards[i]) continue;
    term->guards[i] = std::move(simpler);
    changed = true;
  }
  if (changed) return Change::kChanged;
  const Facts all = With(context, term->guards);
  for (const Fact& fact : term->guards) {
    if (arith_.Implied(all, Negation(fact), Effort::kSyntax)) return Change::kGone;
  }
  return Change::kNothing;
}

Normalizer::Change Normalizer::Indices(Summand* term, const Facts& context) {
  const Facts all = With(context, term->guards);
  bool changed = false;
  auto simplify = [&](Poly* p) {
    Poly simpler = arith_.SimplifyDivs(all, *p);
    if (simpler == *p || simpler.overflowed()) return;
    *p = std::move(simpler);
    changed = true;
  };
  simplify(&term->coefficient);
  for (Atom& atom : term->atoms) {
    for (Poly& p : atom.index) simplify(&p);
  }
  return changed ? Change::kChanged : Change::kNothing;
}

Normalizer::Change Normalizer::DropGuards(Summand* term, const Facts& context) {
  // No other guard implies the only lower or upper bound of an axis.
  auto is_range = [&](size_t i) {
    const Fact& fact = term->guards[i];
    if (fact.kind != Fact::Kind::kGe) return false;
    for (Leaf axis : term->axes) {
      const int64_t c = fact.p.CoefficientOf({axis});
      if (c == 0) continue;
      int alike = 0;
      for (const Fact& other : term->guards) {
        if (leaves_.Mentions(other.p, axis)) {
          const int64_t oc = other.p.CoefficientOf({axis});
          if (other.kind != Fact::Kind::kGe || oc == 0 || (oc > 0) == (c > 0)) ++alike;
        }
      }
      if (alike == 1) return true;
    }
    return false;
  };
  bool asked = false;
  for (size_t i = 0; i < term->guards.size();) {
    if (is_range(i)) {
      ++i;
      continue;
    }
    asked = true;
    if (arith_.Implied(With(context, Others(term->guards, i)), term->guards[i])) {
      term->guards.erase(term->guards.begin() + i);
    } else {
      ++i;
    }
  }
  if (asked && arith_.Contradicts(context, term->guards)) return Change::kGone;
  return Change::kNothing;
}

// 1/(x*y) = 1/x * 1/y, x/x = 1 for sizes that are not 0.
Normalizer::Change Normalizer::Sizes(Summand* term, const Facts& context) {
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    if (term->atoms[i].kind != Atom::Kind::kSizeInverse) continue;
    const Poly p = term->atoms[i].index[0];
    if (p.overflowed() || p.IsZero()) continue;
    auto erase = [&] { term->atoms.erase(term->atoms.begin() + i); };
    if (auto c = p.AsConst()) {
      int64_t d = 0;
      if (*c == INT64_MIN || __builtin_mul_overflow(term->denominator, *c < 0 ? -*c : *c, &d)) {
        continue;
      }
      term->denominator = d;
      if (*c < 0) term->coefficient = -term->coefficient;
      erase();
      return Change::kChanged;
    }
    const int64_t content = ContentOf(p);
    const Monomial common = CommonMonomial(p);
    if (content > 1 || p.terms().back().second < 0 ||
        (!common.empty() && (p.terms().size() > 1 || common.size() > 1))) {
      const int64_t sign = p.terms().back().second < 0 ? -1 : 1;
      std::vector<Poly> factors = {content * sign};
      for (Leaf leaf : common) factors.push_back(Poly::Of(leaf));
      factors.push_back(*ExactQuotient(p, Poly::Of(common, content * sign)));
      erase();
      for (const Poly& factor : factors) {
        if (factor == Poly(1)) continue;
        Atom atom;
        atom.kind = Atom::Kind::kSizeInverse;
        atom.index = {factor};
        term->atoms.push_back(std::move(atom));
      }
      return Change::kChanged;
    }
    auto quotient = ExactQuotient(term->coefficient, p);
    if (quotient && !term->coefficient.IsZero() &&
        (arith_.Positive(context, p) || arith_.Positive(context, -p))) {
      term->coefficient = *quotient;
      erase();
      return Change::kChanged;
    }
  }
  return Change::kNothing;
}

std::optional<Fact> Normalizer::OuterGuard(const NormalForm& form) {
  for (const Summand& term : form.terms) {
    for (const Fact& fact : term.guards) {
      const bool own = std::any_of(term.axes.begin(), term.axes.end(),
                                   [&](Leaf axis) { return leaves_.Mentions(fact.p, axis); });
      if (!own) return fact;
    }
  }
  return std::nullopt;
}

void Normalizer::Expand(const Summand& term, size_t i, const NormalForm& factor,
                        const Facts& context, std::vector<Summand>* out) {
  Summand rest = term;
  rest.atoms.erase(rest.atoms.begin() + i);
  // The factor may mention the summand's axes, so only its own binders are renamed.
  for (const Summand& t : factor.terms) {
    Summand other = forms_.Renamed(t), product = rest;
    product.coefficient = product.coefficient * other.coefficient;
    if (__builtin_mul_overflow(product.denominator, other.denominator, &product.denominator)) {
      product.coefficient = Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
      product.denominator = 1;
    }
    product.axes.insert(product.axes.end(), other.axes.begin(), other.axes.end());
    product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
    product.atoms.insert(product.atoms.end(), other.atoms.begin(), other.atoms.end());
    SimplifyTerm(std::move(product), context, out);
  }
}

Normalizer::Change Normalizer::OneAtom(Summand* term, size_t i, const Facts& inner,
                                       const Facts& context, std::vector<Summand>* out) {
  Atom& atom = term->atoms[i];
  for (NormalFormPtr& arg : atom.args) {
    NormalForm simpler = Simplify(*arg, inner);
    if (auto guard = OuterGuard(simpler)) {
      // f(if g then x else y) = if g then f(x) else f(y).
      Summand yes = *term, no = *term;
      yes.guards.push_back(*guard);
      no.guards.push_back(Negation(*guard));
      SimplifyTerm(std::move(yes), context, out);
      SimplifyTerm(std::move(no), context, out);
      return Change::kReplaced;
    }
    arg = Share(std::move(simpler));
  }
  if (!atom.alternatives.empty()) SimplifyAlternatives(&atom, inner);
  auto guard = GuardOfConstant(atom);
  auto is_guard = [&](const Fact& fact) { return fact == *guard || fact == Negation(*guard); };
  if (guard && std::none_of(term->guards.begin(), term->guards.end(), is_guard)) {
    // max(if g then c, a) = if g then max(c, a) else a brings constants together.
    Summand yes = *term, no = *term;
    yes.guards.push_back(*guard);
    no.guards.push_back(Negation(*guard));
    SimplifyTerm(std::move(yes), context, out);
    SimplifyTerm(std::move(no), context, out);
    return Change::kReplaced;
  }
  if (auto equal = Law(atom, inner)) {
    Expand(*term, i, *equal, context, out);
    return Change::kReplaced;
  }
  return Change::kNothing;
}

Normalizer::Change Normalizer::Atoms(Summand* term, const Facts& context,
                                     std::vector<Summand>* out) {
  const Facts inner = With(context, term->guards);
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    const Atom::Kind kind = term->atoms[i].kind;
    if (kind == Atom::Kind::kRead || kind == Atom::Kind::kConstant ||
        kind == Atom::Kind::kSizeInverse) {
      continue;
    }
    Change step = OneAtom(term, i, inner, context, out);
    if (step != Change::kNothing) return step;
  }
  const Change step = Squares(term, context, out);
  return step == Change::kNothing ? Cancel(term) : step;
}

Normalizer::Change Normalizer::Squares(Summand* term, const Facts& context,
                                       std::vector<Summand>* out) {
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    const bool truth = laws_ == Laws::kRealOnly && IsTruth(term->atoms[i]);
    std::optional<NormalForm> square = SquareLaw(term->atoms[i]);
    if (unit_ > 0 && term->atoms[i].Is(ScalarFn::kSin)) {
      // sin(x)² = 1 - cos(x)²
      const NormalForm cosine =
          OfAtom(FnAtom(Info(ScalarFn::kCos).name, {*term->atoms[i].args[0]}));
      square = Sum(Number(1), Scaled(forms_.Product(cosine, cosine), -1));
    }
    if (!square && !truth) continue;
    const std::string key = forms_.Key(term->atoms[i]);
    for (size_t j = i + 1; j < term->atoms.size(); ++j) {
      if (forms_.Key(term->atoms[j]) != key) continue;
      term->atoms.erase(term->atoms.begin() + j);
      if (truth) return Change::kChanged;  // a truth value is its own square
      Expand(*term, i, *square, context, out);
      return Change::kReplaced;
    }
  }
  return Change::kNothing;
}

bool Normalizer::NonZero(const Atom& atom) const { return atom.Is(ScalarFn::kExp); }

// x * 1/x = 1.
Normalizer::Change Normalizer::Cancel(Summand* term) {
  if (laws_ != Laws::kRealOnly) return Change::kNothing;
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    if (!NonZero(term->atoms[i])) continue;
    for (size_t j = 0; j < term->atoms.size(); ++j) {
      const Atom& inverse = term->atoms[j];
      if (inverse.kind != Atom::Kind::kInverse || inverse.args[0]->terms.size() != 1) continue;
      const Summand& t = inverse.args[0]->terms[0];
      if (t.coefficient != Poly(1) || t.denominator != 1 || !t.axes.empty() || !t.guards.empty() ||
          t.atoms.size() != 1) {
        continue;
      }
      if (forms_.Key(t.atoms[0]) != forms_.Key(term->atoms[i])) continue;
      term->atoms.erase(term->atoms.begin() + std::max(i, j));
      term->atoms.erase(term->atoms.begin() + std::min(i, j));
      return Change::kChanged;
    }
  }
  return Change::kNothing;
}

void Normalizer::SimplifyTerm(Summand term, const Facts& context, std::vector<Summand>* out) {
  Facts settled;  // guards that cannot be simplified further
  for (int round = 0; round < 60; ++round) {
    if (++steps_ > kMaxSteps) break;
    SpendWork(static_cast<int64_t>(8 + context.size() + term.guards.size()));
    if (term.coefficient.IsZero()) return;
    const bool known = round > 0 && term.guards == settled;
    Change step = known ? Change::kNothing : Guards(&term, context);
    if (step == Change::kNothing) settled = term.guards;
    if (step == Change::kNothing) step = OnePoint(&term);
    if (step == Change::kNothing) step = Indices(&term, context);
    if (step == Change::kNothing) step = SplitAxis(&term, context);
    if (step == Change::kNothing) step = DropGuards(&term, context);
    if (step == Change::kNothing) step = Sizes(&term, context);
    if (step == Change::kNothing) step = Atoms(&term, context, out);
    if (step == Change::kNothing) step = UnusedAxis(&term, context);
    if (step == Change::kNothing) step = MergeAxes(&term, context);
    if (step == Change::kGone || step == Change::kReplaced) return;
    if (step == Change::kNothing) break;
  }
  out->push_back(std::move(term));
}

}  // namespace lemma::prover
