// Laws of functions: normal forms of exp, log, reciprocals and maxima.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/numbers.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

// The value of a constant where arithmetic is uninterpreted.
std::optional<double> ConstantOf(const NormalForm& form) {
  if (form.terms.size() != 1 || !IsPlain(form.terms[0]) || form.terms[0].atoms.size() != 1) {
    return std::nullopt;
  }
  const Summand& term = form.terms[0];
  const std::string& name = term.atoms[0].name;
  double value = 0;
  const bool constant = term.atoms[0].kind == Atom::Kind::kConstant && name.rfind("c:", 0) == 0 &&
                        term.coefficient == Poly(1) && term.denominator == 1;
  if (!constant || !absl::SimpleAtod(name.substr(2), &value)) return std::nullopt;
  return value;
}

// Whether it is a number, or a constant known by its name only.
bool IsConstant(const NormalForm& form) {
  return std::all_of(form.terms.begin(), form.terms.end(), [](const Summand& t) {
    return IsPlain(t) && std::all_of(t.atoms.begin(), t.atoms.end(), [](const Atom& atom) {
             return atom.kind == Atom::Kind::kConstant;
           });
  });
}

Atom InverseAtom(NormalForm form) {
  Atom atom;
  atom.kind = Atom::Kind::kInverse;
  atom.args = {Share(std::move(form))};
  return atom;
}

}  // namespace

std::optional<NormalForm> Normalizer::Law(const Atom& atom, const Facts& context) {
  if (laws_ == Laws::kExact) return ExactLaw(atom, context);
  if (laws_ == Laws::kNone && atom.kind != Atom::Kind::kMax) return std::nullopt;
  switch (atom.kind) {
    case Atom::Kind::kInverse:
      if (auto simpler = InverseLaw(*atom.args[0], context)) return simpler;
      break;
    case Atom::Kind::kMax:
      if (auto simpler = MaxLaw(atom, context)) return simpler;
      break;
    case Atom::Kind::kFn:
      if (unit_ > 0) {
        if (auto identical = Identity(atom, context)) return identical;
      }
      if (auto rounding = RoundingOf(atom)) return RoundingLaw(*rounding, *atom.args[0]);
      if (auto symmetric = SymmetryLaw(atom)) return symmetric;
      if (laws_ != Laws::kRealOnly) return std::nullopt;
      if (auto known = CompareLaw(atom)) return known;
      if (auto truth = TruthLaw(atom)) return truth;
      if (atom.Is(ScalarFn::kExp)) return ExpLaw(*atom.args[0]);
      if (atom.Is(ScalarFn::kLog)) return LogLaw(*atom.args[0]);
      return std::nullopt;
    default:
      break;
  }
  return unit_ > 0 ? Identity(atom, context) : std::nullopt;
}

// Whether the form shows that it is positive: a sum of products of exponentials and reciprocals.
bool Normalizer::IsPositive(const NormalForm& form) const {
  auto positive = [&](const Atom& atom) {
    if (NonZero(atom)) return true;
    return atom.kind == Atom::Kind::kInverse && atom.args[0]->terms.size() == 1 &&
           IsPositive(*atom.args[0]);
  };
  return !form.terms.empty() &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](const Summand& t) {
           return t.coefficient.AsConst().value_or(0) > 0 && !t.atoms.empty() &&
                  std::all_of(t.atoms.begin(), t.atoms.end(), positive);
         });
}

// exp(0) = 1, exp(a + b) = exp(a) * exp(b), exp(-a) = 1 / exp(a), exp(log(s)) = s for positive s.
std::optional<NormalForm> Normalizer::ExpLaw(const NormalForm& arg) {
  if (arg.terms.empty()) return Number(1);
  auto negative = [](const Summand& t) {
    return !t.coefficient.overflowed() && t.coefficient.terms().back().second < 0;
  };
  // s, if the summand is log(s) or -log(s).
  auto inside = [&](const Summand& t) -> const NormalForm* {
    const bool alone = IsPlain(t) && t.denominator == 1 && t.atoms.size() == 1 &&
                       (t.coefficient == Poly(1) || t.coefficient == Poly(-1));
    if (!alone || !t.atoms[0].Is(ScalarFn::kLog) || !IsPositive(*t.atoms[0].args[0]))
      return nullptr;
    return t.atoms[0].args[0].get();
  };
  if (arg.terms.size() == 1 && !negative(arg.terms[0]) && inside(arg.terms[0]) == nullptr) {
    return std::nullopt;
  }
  NormalForm product = Number(1);
  for (const Summand& t : arg.terms) {
    NormalForm one{{t}};
    NormalForm factor;
    if (const NormalForm* s = inside(t)) {
      factor = negative(t) ? OfAtom(InverseAtom(*s)) : *s;
    } else if (negative(t)) {
      factor = OfAtom(InverseAtom(OfAtom(FnAtom("exp", {Scaled(one, -1)}))));
    } else {
      factor = OfAtom(FnAtom("exp", {one}));
    }
    product = forms_.Product(product, factor);
  }
  return product;
}

std::optional<std::pair<Atom, NormalForm>> Normalizer::CommonFactor(const NormalForm& form) {
  if (form.terms.empty()) return std::nullopt;
  const Summand& first = form.terms[0];
  for (const Atom& atom : first.atoms) {
    const bool own = std::any_of(first.axes.begin(), first.axes.end(),
                                 [&](Leaf axis) { return forms_.Mentions(atom, axis); });
    if (own) continue;
    const std::string key = forms_.Key(atom);
    NormalForm rest;
    for (const Summand& term : form.terms) {
      Summand t = term;
      auto at = std::find_if(t.atoms.begin(), t.atoms.end(),
                             [&](const Atom& a) { return forms_.Key(a) == key; });
      if (at == t.atoms.end()) break;
      t.atoms.erase(at);
      rest.terms.push_back(std::move(t));
    }
    if (rest.terms.size() == form.terms.size()) return std::make_pair(atom, std::move(rest));
  }
  return std::nullopt;
}

// log(exp(a)) = a, log(exp(a) * s) = a + log(s), log(1/s) = -log(s). Takes out a factor only if it
// is positive: then the logarithm of the rest exists wherever that of the whole does.
std::optional<NormalForm> Normalizer::LogLaw(const NormalForm& arg) {
  if (auto common = CommonFactor(arg)) {
    const auto& [atom, rest] = *common;
    auto log_of_rest = [&, &rest = rest]() -> NormalForm {
      const bool is_one = rest.terms.size() == 1 && IsPlain(rest.terms[0]) &&
                          rest.terms[0].atoms.empty() && rest.terms[0].coefficient == Poly(1) &&
                          rest.terms[0].denominator == 1;
      return is_one ? NormalForm() : OfAtom(FnAtom("log", {rest}));
    };
    if (NonZero(atom)) return Sum(*atom.args[0], log_of_rest());
    if (atom.kind == Atom::Kind::kInverse) {
      const bool alone = log_of_rest().terms.empty();
      const NormalForm& inner = *atom.args[0];
      const bool positive = inner.terms.size() == 1 && IsPlain(inner.terms[0]) &&
                            inner.terms[0].atoms.size() == 1 && NonZero(inner.terms[0].atoms[0]) &&
                            inner.terms[0].coefficient == Poly(1);
      if (alone || positive) {
        return Sum(Scaled(OfAtom(FnAtom("log", {inner})), -1), log_of_rest());
      }
    }
  }
  return std::nullopt;
}

// 1/(x*y) = 1/x * 1/y; 1/(1/x) = x for x known not to be 0; 1/n for a size n.
std::optional<NormalForm> Normalizer::InverseLaw(const NormalForm& arg, const Facts& context) {
  if (arg.terms.size() == 1 && IsPlain(arg.terms[0]) && !arg.terms[0].coefficient.IsZero()) {
    const Summand& t = arg.terms[0];
    const bool trivial = t.coefficient == Poly(1) && t.denominator == 1;
    if (!t.atoms.empty() && laws_ != Laws::kRealOnly) return std::nullopt;
    if (t.atoms.size() == 1 && trivial) {
      // Reciprocals cancel where they are defined; 1/(1/x) = x needs x != 0.
      if (t.atoms[0].kind == Atom::Kind::kSizeInverse &&
          arith_.Positive(context, t.atoms[0].index[0])) {
        return Number(t.atoms[0].index[0]);
      }
      if (t.atoms[0].kind == Atom::Kind::kInverse) {
        const NormalForm& inner = *t.atoms[0].args[0];
        if (inner.terms.size() == 1 && IsPlain(inner.terms[0]) &&
            inner.terms[0].atoms.size() == 1 && NonZero(inner.terms[0].atoms[0])) {
          return inner;
        }
      }
      return std::nullopt;
    }
    if (t.atoms.empty() || !trivial || t.atoms.size() > 1) {
      Summand result;
      result.coefficient = t.denominator;
      if (t.coefficient != Poly(1)) {
        Atom size;
        size.kind = Atom::Kind::kSizeInverse;
        size.index = {t.coefficient};
        result.atoms.push_back(std::move(size));
      }
      for (const Atom& atom : t.atoms) {
        Atom inverse = InverseAtom(OfAtom(atom));
        result.atoms.push_back(std::move(inverse));
      }
      return NormalForm{{std::move(result)}};
    }
  }
  if (laws_ != Laws::kRealOnly || arg.terms.empty()) return std::nullopt;
  if (arg.terms.size() == 1 && IsPlain(arg.terms[0])) return std::nullopt;
  if (auto common = CommonFactor(arg)) {
    return forms_.Product(OfAtom(InverseAtom(OfAtom(common->first))),
                          OfAtom(InverseAtom(common->second)));
  }
  return std::nullopt;
}

void Normalizer::SimplifyAlternatives(Atom* atom, const Facts& context) {
  constexpr size_t kMany = 16;
  const bool is_max = atom->kind == Atom::Kind::kMax;
  std::vector<Alternative> work(atom->alternatives.rbegin(), atom->alternatives.rend()), done;
  while (!work.empty() && ++steps_ <= kMaxSteps) {
    Alternative next = std::move(work.back());
    work.pop_back();
    // Simplifies guards like those of a summand whose only atom is the value.
    Summand shell;
    shell.axes = next.axes;
    shell.guards = next.guards;
    shell.atoms = {FnAtom("value", {*next.value})};
    bool gone = false;
    for (int round = 0; round < 20; ++round) {
      Change step = Guards(&shell, context);
      if (step == Change::kNothing && is_max) step = OnePoint(&shell);
      if (step == Change::kNothing) step = DropGuards(&shell, context);
      if (step == Change::kGone) gone = true;
      if (step != Change::kChanged) break;
    }
    if (gone && is_max) continue;
    NormalForm value = Simplify(*shell.atoms[0].args[0], With(context, shell.guards));
    next.axes = shell.axes;
    next.guards = shell.guards;
    if (is_max) {
      if (auto guard = OuterGuard(value)) {
        Alternative yes = next, no = next;
        yes.value = no.value = Share(std::move(value));
        yes.guards.push_back(*guard);
        no.guards.push_back(Negation(*guard));
        // Both copies have the same binders, each in its own scope.
        work.push_back(std::move(no));
        work.push_back(std::move(yes));
        continue;
      }
      // Finds the summand of `value` that is a maximum itself, times a positive number. Copies the
      // other summands only if nothing else can be done with them; MaxLaw takes them out.
      const bool alone = work.empty() && done.empty();
      const bool may_copy = IsPlain(next) && !alone && work.size() < kMany;
      size_t nested = 0;
      while (nested < value.terms.size()) {
        const Summand& t = value.terms[nested];
        if (IsPlain(t) && t.atoms.size() == 1 && t.atoms[0].kind == Atom::Kind::kMax &&
            t.atoms[0].name == atom->name && t.coefficient.AsConst().value_or(0) > 0 &&
            (value.terms.size() == 1 || may_copy)) {
          break;
        }
        ++nested;
      }
      // max(c * max(a, b) + s, d) = max(c * a + s, c * b + s, d) for c > 0
      if (nested < value.terms.size()) {
        const Summand outer = forms_.Substitute(value.terms[nested], {});
        value.terms.erase(value.terms.begin() + nested);
        for (Alternative inner : outer.atoms[0].alternatives) {
          NormalForm scaled = *inner.value;
          for (Summand& t : scaled.terms) {
            t.coefficient = t.coefficient * outer.coefficient;
            if (__builtin_mul_overflow(t.denominator, outer.denominator, &t.denominator)) {
              t.coefficient = Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
            }
          }
          inner.axes.insert(inner.axes.end(), next.axes.begin(), next.axes.end());
          inner.guards.insert(inner.guards.end(), next.guards.begin(), next.guards.end());
          inner.value = Share(Sum(scaled, forms_.Substitute(value, {})));
          work.push_back(std::move(inner));
        }
        continue;
      }
    }
    next.value = Share(std::move(value));
    done.push_back(std::move(next));
  }
  if (!work.empty()) done.insert(done.end(), work.begin(), work.end());
  if (is_max) {
    std::set<std::string> seen;
    std::vector<Alternative> distinct;
    for (Alternative& alternative : done) {
      Atom alone;
      alone.kind = Atom::Kind::kMax;
      alone.name = atom->name;
      alone.alternatives = {alternative};
      if (seen.insert(forms_.Key(alone)).second) distinct.push_back(std::move(alternative));
    }
    done = std::move(distinct);
  }
  atom->alternatives = std::move(done);
  if (is_max) DropDominated(atom, context);
}

// Whether c >= 0 follows from max(a, b) >= a: c is a number, or becomes one when maxima are
// replaced.
bool Normalizer::IsNonNegative(const NormalForm& form, const Facts& context, int depth) {
  constexpr int kMaxDepth = 2;
  const NormalForm sum = Combine(form);
  if (sum.terms.empty()) return true;
  if (sum.terms.size() == 1 && IsPlain(sum.terms[0]) && sum.terms[0].atoms.empty()) {
    return arith_.NonNegative(context, sum.terms[0].coefficient);
  }
  for (size_t i = 0; i < sum.terms.size() && depth < kMaxDepth; ++i) {
    const Summand& t = sum.terms[i];
    if (!IsPlain(t) || t.atoms.size() != 1 || t.atoms[0].kind != Atom::Kind::kMax ||
        t.coefficient.AsConst().value_or(0) <= 0) {
      continue;
    }
    for (const Alternative& a : t.atoms[0].alternatives) {
      if (!IsPlain(a)) continue;
      Summand factor = t;
      factor.atoms.clear();
      NormalForm less = sum;
      less.terms.erase(less.terms.begin() + i);
      less = Sum(less, forms_.Product(NormalForm{{factor}}, *a.value));
      if (IsNonNegative(less, context, depth + 1)) return true;
    }
  }
  return false;
}

// Whether p = (1 - t) * a + t * b for a number 0 <= t <= 1; then p <= max(a, b).
bool Normalizer::IsBetween(const NormalForm& p, const NormalForm& a, const NormalForm& b) {
  const NormalForm part = Combine(Sum(p, Scaled(a, -1))), whole = Combine(Sum(b, Scaled(a, -1)));
  if (part.terms.size() != whole.terms.size()) return false;
  std::map<std::string, const Summand*> by_key;
  for (const Summand& t : whole.terms) by_key[forms_.Key(t, false)] = &t;
  std::set<std::string> seen;
  // t as a fraction, from the first summand.
  int64_t num = 0, den = 0;
  for (const Summand& t : part.terms) {
    const std::string key = forms_.Key(t, false);
    auto it = by_key.find(key);
    if (it == by_key.end() || !seen.insert(key).second) return false;
    const auto x = t.coefficient.AsConst(), y = it->second->coefficient.AsConst();
    int64_t n = 0, d = 0;
    if (!x || !y || *y == 0 || __builtin_mul_overflow(*x, it->second->denominator, &n) ||
        __builtin_mul_overflow(*y, t.denominator, &d)) {
      return false;
    }
    const int64_t g = (d < 0 ? -1 : 1) * std::gcd(n, d);
    if (den != 0 && (n / g != num || d / g != den)) return false;
    num = n / g;
    den = d / g;
  }
  return 0 <= num && num <= den;
}

void Normalizer::DropDominated(Atom* atom, const Facts& context) {
  constexpr size_t kMost = 8;
  const std::vector<Alternative>& all = atom->alternatives;
  if (all.size() < 2 || all.size() > kMost) return;
  auto dominated = [&](size_t p) {
    if (!IsPlain(all[p])) return false;
    for (size_t a = 0; a < all.size(); ++a) {
      if (a == p) continue;
      const NormalForm &less = *all[p].value, &more = *all[a].value;
      if (laws_ == Laws::kExact) {
        // What is dropped is a number, so that NaN elsewhere still shows.
        if (!HasPoint(all[a].axes, all[a].guards, context)) continue;
        const Span x = SpanOf(less, context), y = SpanOf(more, With(context, all[a].guards));
        const bool max = atom->name == Name(ReduceKind::kMax);
        if (x.exact && (max ? x.high <= y.low : x.low >= y.high)) return true;
        continue;
      }
      if (!IsPlain(all[a])) continue;
      if (laws_ == Laws::kNone) {
        const auto x = ConstantOf(less), y = ConstantOf(more);
        if (x && y && (atom->name == Name(ReduceKind::kMax) ? *x < *y : *x > *y)) return true;
        continue;
      }
      if (IsNonNegative(Sum(more, Scaled(less, -1)), context, 0)) return true;
      for (size_t b = a + 1; b < all.size(); ++b) {
        if (b != p && IsPlain(all[b]) && IsBetween(less, more, *all[b].value)) return true;
      }
    }
    return false;
  };
  for (size_t p = all.size(); p-- > 0;) {
    if (dominated(p)) atom->alternatives.erase(atom->alternatives.begin() + p);
  }
}

std::optional<Fact> Normalizer::GuardOfConstant(const Atom& atom) const {
  if (atom.kind != Atom::Kind::kMax || atom.alternatives.size() < 2) return std::nullopt;
  for (const Alternative& a : atom.alternatives) {
    if (a.axes.empty() && !a.guards.empty() && IsConstant(*a.value)) return a.guards[0];
  }
  return std::nullopt;
}

// m * m = (a + b) * m - a * b for m = max(a, b), since (m - a) * (m - b) = 0. This fails if a is
// infinite and b is not: inf * 0 is NaN.
std::optional<NormalForm> Normalizer::SquareLaw(const Atom& m) {
  if (laws_ != Laws::kRealOnly || m.kind != Atom::Kind::kMax || m.alternatives.size() != 2 ||
      !IsPlain(m.alternatives[0]) || !IsPlain(m.alternatives[1])) {
    return std::nullopt;
  }
  const NormalForm &a = *m.alternatives[0].value, &b = *m.alternatives[1].value;
  return Sum(forms_.Product(Sum(a, b), OfAtom(m)), Scaled(forms_.Product(a, b), -1));
}

// Every guard must be a bound of one axis.
bool Normalizer::HasPoint(const std::vector<Leaf>& axes, const Facts& guards,
                          const Facts& context) {
  Facts rest = guards;
  bool exists = true;
  for (Leaf axis : axes) {
    Facts mine, others;
    for (const Fact& fact : rest) (leaves_.Mentions(fact.p, axis) ? mine : others).push_back(fact);
    Poly span;
    bool low = false, high = false;
    for (const Fact& fact : mine) {
      const int64_t c = fact.p.CoefficientOf({axis});
      low = low || c == 1;
      high = high || c == -1;
      span = span + fact.p;
      exists = exists && !leaves_.Mentions(fact.p - Poly::Of(Monomial{axis}, c), axis);
    }
    exists = exists && mine.size() == 2 && low && high && !leaves_.Mentions(span, axis);
    for (Leaf other : axes) exists = exists && !leaves_.Mentions(span, other);
    for (const Fact& fact : mine) exists = exists && fact.kind == Fact::Kind::kGe;
    exists = exists && arith_.NonNegative(context, span);
    rest = others;
  }
  return exists && rest.empty();
}

// max(x) = x; max(k < K) (a + b[k]) = a + max(k < K) b[k] where K > 0;
// max(c*x, c*y) = c * max(x, y) for a number c > 0.
std::optional<NormalForm> Normalizer::MaxLaw(const Atom& atom, const Facts& context) {
  if (atom.alternatives.empty()) return std::nullopt;
  const Alternative& first = atom.alternatives[0];
  if (atom.alternatives.size() == 1 && first.axes.empty() && first.guards.empty()) {
    return *first.value;
  }
  if (laws_ == Laws::kNone) return std::nullopt;
  if (atom.alternatives.size() == 1 && !first.axes.empty()) {
    if (HasPoint(first.axes, first.guards, context)) {
      NormalForm inside, outside;
      for (const Summand& t : first.value->terms) {
        const bool depends = std::any_of(first.axes.begin(), first.axes.end(), [&](Leaf axis) {
          return forms_.Mentions(NormalForm{{t}}, axis);
        });
        (depends ? inside : outside).terms.push_back(t);
      }
      if (inside.terms.empty()) return outside;
      if (!outside.terms.empty()) {
        Atom smaller = atom;
        smaller.alternatives[0].value = Share(std::move(inside));
        return Sum(outside, OfAtom(std::move(smaller)));
      }
    }
  }
  // The content of all coefficients, if they are numbers.
  int64_t content = 0, denominator = 0;
  for (const Alternative& alternative : atom.alternatives) {
    for (const Summand& t : alternative.value->terms) {
      if (t.coefficient.overflowed() || t.coefficient.IsZero()) return std::nullopt;
      content = std::gcd(content, ContentOf(t.coefficient));
      if (denominator != 0 && denominator != t.denominator) return std::nullopt;
      denominator = t.denominator;
    }
  }
  if (content == 0 || (content == 1 && denominator == 1)) return std::nullopt;
  Atom smaller = atom;
  for (Alternative& alternative : smaller.alternatives) {
    NormalForm value = *alternative.value;
    for (Summand& t : value.terms) {
      t.coefficient = *ExactQuotient(t.coefficient, content);
      t.denominator = 1;
    }
    alternative.value = Share(std::move(value));
  }
  NormalForm result = OfAtom(std::move(smaller));
  result.terms[0].coefficient = content;
  result.terms[0].denominator = denominator;
  return result;
}

}  // namespace lemma::prover
