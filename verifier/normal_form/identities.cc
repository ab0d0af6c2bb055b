// Identities of real functions, which the normalizer uses on request: functions by exp, multiples
// and sums of angles, powers of exp, roots and logarithms of products. Those of maxima and
// comparisons are in comparison_identities.cc.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

constexpr int64_t kLargestPower = 12;
constexpr int64_t kLargestMultiple = 6;

// Numbers with the operators that the rows of scalar_identities.inc use.
struct Formula {
  NormalForms* forms;
  NormalForm form;

  Formula Fn(ScalarFn fn) const { return {forms, OfAtom(FnAtom(Info(fn).name, {form}))}; }
  Formula Of(int64_t n) const { return {forms, Number(n)}; }
  friend Formula operator+(const Formula& a, const Formula& b) {
    return {a.forms, Sum(a.form, b.form)};
  }
  friend Formula operator-(const Formula& a, const Formula& b) {
    return {a.forms, Sum(a.form, Scaled(b.form, -1))};
  }
  friend Formula operator*(const Formula& a, const Formula& b) {
    return {a.forms, a.forms->Product(a.form, b.form)};
  }
  friend Formula operator/(const Formula& a, const Formula& b) {
    return {a.forms, a.forms->Product(a.form, Reciprocal(b.form))};
  }
  friend Formula operator+(int64_t a, const Formula& b) { return b.Of(a) + b; }
  friend Formula operator-(int64_t a, const Formula& b) { return b.Of(a) - b; }
  friend Formula operator*(int64_t a, const Formula& b) { return b.Of(a) * b; }
  friend Formula operator/(int64_t a, const Formula& b) { return b.Of(a) / b; }
  friend Formula operator+(const Formula& a, int64_t b) { return a + a.Of(b); }
  friend Formula operator-(const Formula& a, int64_t b) { return a - a.Of(b); }
  friend Formula operator/(const Formula& a, int64_t b) { return a / a.Of(b); }
};
Formula Exp(const Formula& a) { return a.Fn(ScalarFn::kExp); }
Formula Log(const Formula& a) { return a.Fn(ScalarFn::kLog); }
Formula Sqrt(const Formula& a) { return a.Fn(ScalarFn::kSqrt); }
Formula Sin(const Formula& a) { return a.Fn(ScalarFn::kSin); }
Formula Cos(const Formula& a) { return a.Fn(ScalarFn::kCos); }

// The function's value in terms of others; nullopt if the table has no row.
std::optional<NormalForm> ByOthers(NormalForms* forms, const Atom& atom) {
#define LEMMA_BY_OTHERS(id, value)         \
  if (atom.Is(ScalarFn::id)) {             \
    const Formula a{forms, *atom.args[0]}; \
    return Formula(value).form;            \
  }
#include "graph/expr/scalar_identities.inc"
  return std::nullopt;
}

// Whether the summand's coefficient is a multiple of 1 / unit; *multiple times that.
bool IsMultiple(const Summand& t, int64_t unit, int64_t* multiple) {
  const auto p = t.coefficient.AsConst();
  return p && t.denominator > 0 && unit % t.denominator == 0 &&
         !__builtin_mul_overflow(*p, unit / t.denominator, multiple) && *multiple != INT64_MIN;
}

Summand UnitOf(const Summand& t, int64_t unit, int64_t sign) {
  Summand one = t;
  one.coefficient = sign;
  one.denominator = unit;
  return one;
}

}  // namespace

std::optional<NormalForm> Normalizer::Identity(const Atom& atom, const Facts& context) {
  switch (atom.kind) {
    case Atom::Kind::kInverse:
      if (auto cases = CaseByCase(atom, context)) return cases;
      return SimplerInverse(*atom.args[0], context);
    case Atom::Kind::kMax:
      if (auto inside = MaxOfExp(atom)) return inside;
      return MaxByTruth(atom);
    case Atom::Kind::kReduce:
      return ProductOfExp(atom);
    case Atom::Kind::kFn:
      break;
    default:
      return std::nullopt;
  }
  if (auto value = ByOthers(&forms_, atom)) return value;
  if (auto cases = CaseByCase(atom, context)) return cases;
  if (atom.Is(ScalarFn::kExp)) return PowerOfExp(*atom.args[0], context);
  if (atom.Is(ScalarFn::kSin) || atom.Is(ScalarFn::kCos)) return AngleLaw(atom);
  if (atom.Is(ScalarFn::kSqrt)) return RootLaw(*atom.args[0]);
  if (atom.Is(ScalarFn::kLog)) {
    auto quotient = WithoutDenominator(*atom.args[0], context);
    if (!quotient) return std::nullopt;
    return Sum(FnForm(ScalarFn::kLog, {quotient->first}),
               Scaled(FnForm(ScalarFn::kLog, {quotient->second}), -1));
  }
  if (atom.Is(ScalarFn::kPow)) return NegativePower(atom);
  if (atom.Is(ScalarFn::kSign)) {
    const NormalForm &x = *atom.args[0], zero;
    return Sum(FnForm(ScalarFn::kLess, {zero, x}), Scaled(FnForm(ScalarFn::kLess, {x, zero}), -1));
  }
  if (atom.Is(ScalarFn::kNot)) return Sum(Number(1), Scaled(Truth(*atom.args[0]), -1));
  if (atom.Is(ScalarFn::kAnd) || atom.Is(ScalarFn::kOr)) {
    const NormalForm a = Truth(*atom.args[0]), b = Truth(*atom.args[1]);
    const NormalForm both = forms_.Product(a, b);
    return atom.Is(ScalarFn::kAnd) ? both : Sum(Sum(a, b), Scaled(both, -1));
  }
  return CanonicalComparison(atom, context);
}

// exp(k * t / unit) = exp(t / unit)^k, exp(log(s)) = s for positive s.
std::optional<NormalForm> Normalizer::PowerOfExp(const NormalForm& arg, const Facts& context) {
  int64_t k = 0;
  if (arg.terms.size() != 1) return std::nullopt;
  const Summand& t = arg.terms[0];
  const bool is_log = IsPlain(t) && t.atoms.size() == 1 && t.atoms[0].Is(ScalarFn::kLog) &&
                      t.coefficient == Poly(1) && t.denominator == 1;
  if (is_log && IsSurelyPositive(*t.atoms[0].args[0], context)) return *t.atoms[0].args[0];
  if (!IsMultiple(t, unit_, &k)) return std::nullopt;
  if (std::abs(k) < 2 || std::abs(k) > kLargestPower) return std::nullopt;
  const NormalForm base = FnForm(ScalarFn::kExp, {NormalForm{{UnitOf(t, unit_, 1)}}});
  NormalForm power = Number(1);
  for (int64_t i = 0; i < std::abs(k); ++i) power = forms_.Product(power, base);
  return k > 0 ? power : Reciprocal(power);
}

// sin(a + b) = sin(a) cos(b) + cos(a) sin(b), cos(a + b) = cos(a) cos(b) - sin(a) sin(b).
std::optional<NormalForm> Normalizer::AngleLaw(const Atom& atom) {
  const NormalForm& arg = *atom.args[0];
  NormalForm first, rest;
  int64_t k = 0;
  if (arg.terms.size() > 1) {
    if (arg.terms.size() > kLargestMultiple) return std::nullopt;
    first.terms = {arg.terms[0]};
    rest.terms.assign(arg.terms.begin() + 1, arg.terms.end());
  } else {
    if (arg.terms.empty() || !IsMultiple(arg.terms[0], unit_, &k)) return std::nullopt;
    if (std::abs(k) < 2 || std::abs(k) > kLargestMultiple) return std::nullopt;
    first.terms = {UnitOf(arg.terms[0], unit_, k > 0 ? 1 : -1)};
    rest = Scaled(first, std::abs(k) - 1);
  }
  const Formula a{&forms_, first}, b{&forms_, rest};
  if (atom.Is(ScalarFn::kSin)) return (Sin(a) * Cos(b) + Cos(a) * Sin(b)).form;
  return (Cos(a) * Cos(b) - Sin(a) * Sin(b)).form;
}

// √(n² x) = n √x for numbers, √(e² x) = e √x for e = exp(…): where one side has a value, so has the
// other.
std::optional<NormalForm> Normalizer::RootLaw(const NormalForm& arg) {
  if (arg.terms.empty()) return NormalForm();
  const auto content = ContentOfAll(arg);
  if (!content) return std::nullopt;
  // √(content / common) = √(content * common) / common
  int64_t inside = 0, outside = 1;
  if (__builtin_mul_overflow(content->content, content->common, &inside)) return std::nullopt;
  for (int64_t n = 2; n <= 1000 && n * n <= inside; ++n) {
    while (inside % (n * n) == 0) inside /= n * n, outside *= n;
  }
  NormalForm rest = WithoutContent(arg, *content), factor = Number(outside, content->common);
  bool changed = content->common != 1 || outside != 1;
  while (auto twice = SquareFactor(&rest)) {
    factor = forms_.Product(factor, *twice);
    changed = true;
  }
  if (rest.terms.size() == 1 && IsPlain(rest.terms[0]) && rest.terms[0].atoms.empty() &&
      rest.terms[0].coefficient == Poly(1) && inside == 1) {
    return factor;
  }
  if (!changed) return std::nullopt;
  for (Summand& t : rest.terms) t.coefficient = t.coefficient * inside;
  return forms_.Product(factor, FnForm(ScalarFn::kSqrt, {rest}));
}

// exp(…) or its reciprocal, if its square is a factor of each summand; takes the square out.
std::optional<NormalForm> Normalizer::SquareFactor(NormalForm* form) {
  if (form->terms.empty()) return std::nullopt;
  for (const Atom& atom : form->terms[0].atoms) {
    const bool inverse =
        atom.kind == Atom::Kind::kInverse && atom.args[0]->terms.size() == 1 &&
        IsPlain(atom.args[0]->terms[0]) && atom.args[0]->terms[0].atoms.size() == 1 &&
        atom.args[0]->terms[0].coefficient == Poly(1) && atom.args[0]->terms[0].denominator == 1 &&
        NonZero(atom.args[0]->terms[0].atoms[0]);
    const bool own = std::any_of(form->terms[0].axes.begin(), form->terms[0].axes.end(),
                                 [&](Leaf axis) { return forms_.Mentions(atom, axis); });
    if ((!NonZero(atom) && !inverse) || own) continue;
    const std::string key = forms_.Key(atom);
    NormalForm rest;
    for (const Summand& term : form->terms) {
      Summand t = term;
      for (int i = 0; i < 2; ++i) {
        auto at = std::find_if(t.atoms.begin(), t.atoms.end(),
                               [&](const Atom& a) { return forms_.Key(a) == key; });
        if (at != t.atoms.end()) t.atoms.erase(at);
      }
      if (t.atoms.size() + 2 == term.atoms.size()) rest.terms.push_back(std::move(t));
    }
    if (rest.terms.size() != form->terms.size()) continue;
    const NormalForm factor = OfAtom(atom);
    *form = std::move(rest);
    return factor;
  }
  return std::nullopt;
}

// Whether it is positive wherever `context` holds: a sum of products of positive factors, not all
// of whose summands are empty.
bool Normalizer::IsSurelyPositive(const NormalForm& form, const Facts& context) {
  auto positive = [&](const Atom& atom) {
    if (NonZero(atom)) return true;
    if (atom.kind == Atom::Kind::kSizeInverse) return arith_.Positive(context, atom.index[0]);
    return atom.kind == Atom::Kind::kInverse && IsSurelyPositive(*atom.args[0], context);
  };
  bool exists = false;
  for (const Summand& t : form.terms) {
    if (t.coefficient.AsConst().value_or(0) <= 0) return false;
    if (!std::all_of(t.atoms.begin(), t.atoms.end(), positive)) return false;
    exists = exists || IsPlain(t) || (!t.axes.empty() && HasPoint(t.axes, t.guards, context));
  }
  return exists;
}

// n and d with form = n / d, where d is positive and a denominator in `form`.
std::optional<std::pair<NormalForm, NormalForm>> Normalizer::WithoutDenominator(
    const NormalForm& form, const Facts& context) {
  auto own = [&](const Summand& t, const Atom& atom) {
    return std::any_of(t.axes.begin(), t.axes.end(),
                       [&](Leaf axis) { return forms_.Mentions(atom, axis); });
  };
  for (const Summand& term : form.terms) {
    for (const Atom& atom : term.atoms) {
      if (atom.kind != Atom::Kind::kInverse || own(term, atom)) continue;
      if (!IsSurelyPositive(*atom.args[0], context)) continue;
      const std::string key = forms_.Key(atom);
      NormalForm numerator;
      for (const Summand& t : form.terms) {
        Summand rest = t;
        auto at = std::find_if(rest.atoms.begin(), rest.atoms.end(), [&](const Atom& a) {
          return a.kind == Atom::Kind::kInverse && !own(t, a) && forms_.Key(a) == key;
        });
        if (at != rest.atoms.end()) {
          rest.atoms.erase(at);
          numerator.terms.push_back(std::move(rest));
        } else {
          numerator = Sum(numerator, forms_.Product(NormalForm{{t}}, *atom.args[0]));
        }
      }
      return std::make_pair(std::move(numerator), *atom.args[0]);
    }
  }
  return std::nullopt;
}

// 1 / (n / d) = d / n; numbers are taken out of a sum.
std::optional<NormalForm> Normalizer::SimplerInverse(const NormalForm& arg, const Facts& context) {
  if (arg.terms.size() < 2) return std::nullopt;
  if (auto quotient = WithoutDenominator(arg, context)) {
    return forms_.Product(quotient->second, Reciprocal(quotient->first));
  }
  const auto content = ContentOfAll(arg);
  if (!content) return std::nullopt;
  const bool negative = HasNegativeLead(arg);
  if (content->content == 1 && content->common == 1 && !negative) return std::nullopt;
  const NormalForm rest = Scaled(WithoutContent(arg, *content), negative ? -1 : 1);
  NormalForm result = Reciprocal(rest);
  result.terms[0].coefficient = negative ? -content->common : content->common;
  result.terms[0].denominator = content->content;
  return result;
}

// x^-n = 1 / x^n for n = 1/2, 1, 2, 3 and 4.
std::optional<NormalForm> Normalizer::NegativePower(const Atom& atom) {
  const NormalForm& exponent = *atom.args[1];
  if (exponent.terms.size() != 1 || !IsPlain(exponent.terms[0])) return std::nullopt;
  const Summand& t = exponent.terms[0];
  const auto n = t.coefficient.AsConst();
  if (!n || !t.atoms.empty() || *n >= 0) return std::nullopt;
  if (*n == -1 && t.denominator == 2) {
    return Reciprocal(FnForm(ScalarFn::kSqrt, {*atom.args[0]}));
  }
  if (t.denominator != 1 || *n < -4) return std::nullopt;
  const NormalForm once = Reciprocal(*atom.args[0]);
  NormalForm power = once;
  for (int64_t i = 1; i < -*n; ++i) power = forms_.Product(power, once);
  return power;
}

namespace {

// t with value = exp(t), where the value is a product of exponentials and of their reciprocals.
std::optional<NormalForm> ExponentOf(const NormalForm& value, int64_t coefficient) {
  if (value.terms.size() != 1 || !IsPlain(value.terms[0])) return std::nullopt;
  const Summand& t = value.terms[0];
  if (t.atoms.empty() || t.denominator != 1 || t.coefficient != Poly(coefficient)) {
    return std::nullopt;
  }
  NormalForm exponent;
  for (const Atom& atom : t.atoms) {
    if (atom.Is(ScalarFn::kExp)) {
      exponent = Sum(exponent, *atom.args[0]);
      continue;
    }
    if (atom.kind != Atom::Kind::kInverse) return std::nullopt;
    const auto inner = ExponentOf(*atom.args[0], 1);
    if (!inner) return std::nullopt;
    exponent = Sum(exponent, Scaled(*inner, -1));
  }
  return exponent;
}

}  // namespace

// max(exp(x), exp(y)) = exp(max(x, y)), max(-exp(x), -exp(y)) = -exp(-max(-x, -y)).
std::optional<NormalForm> Normalizer::MaxOfExp(const Atom& atom) {
  if (atom.name != Name(ReduceKind::kMax) || atom.alternatives.empty()) return std::nullopt;
  for (int64_t sign : {1, -1}) {
    Atom inside = atom;
    bool all = true;
    for (Alternative& alternative : inside.alternatives) {
      const auto exponent = ExponentOf(*alternative.value, sign);
      all = all && exponent;
      if (!all) break;
      alternative.value = Share(Scaled(*exponent, sign));
    }
    if (all) return Scaled(FnForm(ScalarFn::kExp, {Scaled(OfAtom(std::move(inside)), sign)}), sign);
  }
  return std::nullopt;
}

// prod(k) exp(x[k]) = exp(sum(k) x[k]).
std::optional<NormalForm> Normalizer::ProductOfExp(const Atom& atom) {
  if (atom.name != Name(ReduceKind::kProd)) return std::nullopt;
  const Alternative& factor = atom.alternatives[0];
  auto exponent = ExponentOf(*factor.value, 1);
  if (!exponent) return std::nullopt;
  for (Summand& t : exponent->terms) {
    t.axes.insert(t.axes.begin(), factor.axes.begin(), factor.axes.end());
    t.guards.insert(t.guards.end(), factor.guards.begin(), factor.guards.end());
    t = forms_.Renamed(t);
  }
  return FnForm(ScalarFn::kExp, {*std::move(exponent)});
}

}  // namespace lemma::prover
