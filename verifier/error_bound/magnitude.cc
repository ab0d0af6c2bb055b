#include "verifier/error_bound/magnitude.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/work.h"

namespace lemma::prover {
namespace {

// The value of a constant that is a number.
std::optional<double> NumberOf(const Atom& atom) {
  absl::string_view name = atom.name;
  double value = 0;
  const bool is_number = atom.kind == Atom::Kind::kConstant && absl::ConsumePrefix(&name, "c:") &&
                         absl::SimpleAtod(name, &value) && std::isfinite(value);
  return is_number ? std::optional<double>(value) : std::nullopt;
}

// The name of a parameter; "" for other atoms.
std::string ParameterOf(const Atom& atom) {
  absl::string_view name = atom.name;
  const bool is_parameter = atom.kind == Atom::Kind::kConstant && absl::ConsumePrefix(&name, "p:");
  return is_parameter ? std::string(name) : "";
}

// A double that is not less.
double Above(int64_t number) {
  const auto x = static_cast<double>(number);
  return std::abs(number) <= (int64_t{1} << 53) ? x : std::nextafter(x, HUGE_VAL);
}

std::optional<UpperBound> NumberAbove(const Span& span) {
  const double most = std::max(std::abs(span.low), std::abs(span.high));
  if (!std::isfinite(most)) return std::nullopt;
  return UpperBound::Number(most);
}

}  // namespace

Magnitude::Magnitude(NormalForms* forms, Arith* arith, const std::vector<ExprType>* inputs,
                     const std::map<std::string, std::pair<double, double>>* bounds)
    : forms_(*forms),
      arith_(*arith),
      spans_(forms, arith, Laws::kRing),
      inputs_(*inputs),
      bounds_(*bounds) {
  spans_.UseTypes(inputs, bounds);
}

Span Magnitude::SpanOf(const NormalForm& form, const Facts& context) {
  return spans_.SpanOf(form, context);
}

bool Magnitude::IsPositiveConstant(const Atom& atom) const {
  if (auto value = NumberOf(atom)) return *value > 0;
  const std::string name = ParameterOf(atom);
  auto it = bounds_.find(name);
  // A bound is a number that the parameter may equal.
  return !name.empty() && it != bounds_.end() && it->second.first > 0;
}

std::string Magnitude::SizeName(Leaf leaf) const {
  return forms_.leaves().Info(leaf).kind == LeafInfo::Kind::kSymbol
             ? absl::StrCat("n:", forms_.leaves().ToString(leaf))
             : "";
}

std::optional<UpperBound> Magnitude::OfSizes(const Poly& p, const Facts& context) {
  if (p.overflowed()) return std::nullopt;
  if (auto c = p.AsConst()) return UpperBound::Number(Above(std::abs(*c)));
  // If it may have any sign, all terms count; otherwise only those that are added.
  const bool has_sign = arith_.NonNegative(context, p);
  UpperBound sum;
  for (const auto& [monomial, coefficient] : p.terms()) {
    UpperBound product = UpperBound::Number(Above(std::abs(coefficient)));
    for (Leaf leaf : monomial) {
      const std::string name = SizeName(leaf);
      if (name.empty() || !arith_.Positive(context, Poly::Of(leaf))) return std::nullopt;
      product = product * UpperBound::Of(name);
    }
    if (coefficient > 0 || !has_sign) sum = sum + product;
  }
  return sum;
}

std::optional<UpperBound> Magnitude::Points(const Summand& term, const Facts& context) {
  UpperBound points = UpperBound::Number(1);
  for (Leaf axis : term.axes) {
    // The axis runs from 0 to less than an extent.
    const bool from_zero = std::any_of(
        term.guards.begin(), term.guards.end(),
        [&](const Fact& fact) { return fact.kind == Fact::Kind::kGe && fact.p == Poly::Of(axis); });
    std::optional<UpperBound> most;
    for (const Fact& fact : term.guards) {
      if (!from_zero || most || fact.kind != Fact::Kind::kGe || fact.p.overflowed()) continue;
      const Poly extent = fact.p + Poly::Of(axis) + 1;
      if (fact.p.CoefficientOf({axis}) != -1) continue;
      // The extent must not depend on an index.
      const std::vector<Leaf> deps = forms_.leaves().DepsOf(extent);
      const bool is_size = std::all_of(deps.begin(), deps.end(), [&](Leaf leaf) {
        return forms_.leaves().Info(leaf).kind == LeafInfo::Kind::kSymbol;
      });
      if (is_size) most = OfSizes(extent, context);
    }
    if (!most) return std::nullopt;
    points = points * *most;
  }
  return points;
}

std::optional<UpperBound> Magnitude::Of(const NormalForm& form, const Facts& context) {
  SpendWork(4);
  UpperBound sum;
  for (const Summand& term : form.terms) {
    auto one = Of(term, context);
    if (!one) return NumberAbove(SpanOf(form, context));
    sum = sum + *one;
  }
  // Numbers bound a sum better than its summands do: x - z is at most 255, not 510.
  auto product = OfCommonFactors(form, context);
  return product && AtMost(*product, sum) ? *product : sum;
}

std::optional<UpperBound> Magnitude::OfCommonFactors(const NormalForm& form, const Facts& context) {
  NormalForm rest = form;
  UpperBound product = UpperBound::Number(1);
  const bool is_plain = std::all_of(rest.terms.begin(), rest.terms.end(), IsPlain<Summand>);
  for (size_t i = 0; is_plain && rest.terms.size() > 1 && i < rest.terms[0].atoms.size();) {
    const Atom atom = rest.terms[0].atoms[i];
    const std::string key = forms_.Key(atom);
    NormalForm divided;
    for (const Summand& term : rest.terms) {
      auto same = std::find_if(term.atoms.begin(), term.atoms.end(),
                               [&](const Atom& other) { return forms_.Key(other) == key; });
      if (same == term.atoms.end()) break;
      Summand quotient = term;
      quotient.atoms.erase(quotient.atoms.begin() + (same - term.atoms.begin()));
      divided.terms.push_back(std::move(quotient));
    }
    auto factor = OfAtom(atom, context);
    if (!factor || divided.terms.size() < rest.terms.size()) {
      ++i;
      continue;
    }
    product = product * *factor;
    rest = std::move(divided);
  }
  auto number = NumberAbove(SpanOf(rest, context));
  if (!number) return std::nullopt;
  return product * *number;
}

std::optional<UpperBound> Magnitude::Of(const Summand& term, const Facts& context) {
  const Facts inner = With(context, term.guards);
  auto product = OfSizes(term.coefficient, inner);
  auto points = Points(term, context);
  if (!product || !points) return std::nullopt;
  product = (*product * *points).DividedBy(term.denominator);
  for (const Atom& atom : term.atoms) {
    auto factor = OfAtom(atom, inner);
    if (!factor) return std::nullopt;
    product = *product * *factor;
  }
  return product;
}

std::optional<UpperBound> Magnitude::Exactly(const Summand& term, const Facts& context) {
  if (!IsPlain(term) || term.coefficient.overflowed()) return std::nullopt;
  UpperBound factors = UpperBound::Number(1);
  double number = 1;
  for (const Atom& atom : term.atoms) {
    if (auto value = NumberOf(atom)) {
      number *= *value;  // rounded as the reader of the rule rounds products of numbers
    } else if (IsPositiveConstant(atom)) {
      factors = factors * UpperBound::Of(ParameterOf(atom));
    } else if (atom.kind == Atom::Kind::kInverse && OnlyAtom(*atom.args[0]) != nullptr &&
               IsPositiveConstant(*OnlyAtom(*atom.args[0])) &&
               !ParameterOf(*OnlyAtom(*atom.args[0])).empty()) {
      factors = factors * UpperBound::Of(ParameterOf(*OnlyAtom(*atom.args[0])), -1);
    } else {
      return std::nullopt;
    }
  }
  UpperBound sum;
  for (const auto& [monomial, coefficient] : term.coefficient.terms()) {
    const double value =
        number * static_cast<double>(coefficient) / static_cast<double>(term.denominator);
    const bool is_exact =
        coefficient <= (int64_t{1} << 53) && (term.denominator & (term.denominator - 1)) == 0;
    // Near 0, the quotient could be rounded up.
    if (!(value >= 0x1p-900) || !std::isfinite(value) || !is_exact) return std::nullopt;
    // At least one factor is a small integer or a power of two; a second one may round.
    const bool rounds = std::fma(number, static_cast<double>(coefficient),
                                 -number * static_cast<double>(coefficient)) != 0;
    UpperBound product = UpperBound::Number(rounds ? std::nextafter(value, 0.0) : value) * factors;
    for (Leaf leaf : monomial) {
      const std::string name = SizeName(leaf);
      if (name.empty() || !arith_.Positive(context, Poly::Of(leaf))) return std::nullopt;
      product = product * UpperBound::Of(name);
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<UpperBound> Magnitude::OfInverse(const NormalForm& form, const Facts& context) {
  const Atom* atom = OnlyAtom(form);
  if (atom != nullptr && IsPositiveConstant(*atom) && !ParameterOf(*atom).empty()) {
    return UpperBound::Of(ParameterOf(*atom), -1);
  }
  const Span span = SpanOf(form, context);
  const double least = span.low > 0 ? span.low : -span.high;
  if (!(least > 0) || !std::isfinite(1 / least)) return std::nullopt;
  return UpperBound::Number(std::nextafter(1 / least, 2 / least));
}

std::optional<UpperBound> Magnitude::OfAtom(const Atom& atom, const Facts& context) {
  if (auto value = NumberOf(atom)) return UpperBound::Number(std::abs(*value));
  if (IsPositiveConstant(atom)) return UpperBound::Of(ParameterOf(atom));
  if (atom.kind == Atom::Kind::kInverse) return OfInverse(*atom.args[0], context);
  if (atom.kind == Atom::Kind::kSizeInverse) {
    const Poly& size = atom.index[0];
    const bool is_leaf =
        size.terms().size() == 1 && size.Degree() == 1 && size.terms()[0].second == 1;
    const std::string name = is_leaf ? SizeName(size.terms()[0].first[0]) : "";
    if (name.empty() || !arith_.Positive(context, size)) return std::nullopt;
    return UpperBound::Of(name, -1);
  }
  if (auto number = NumberAbove(SpanOf(prover::OfAtom(atom), context))) return number;
  if (atom.kind == Atom::Kind::kMax) {
    UpperBound most;
    for (const Alternative& a : atom.alternatives) {
      auto one = Of(*a.value, With(context, a.guards));
      if (!one) return std::nullopt;
      most = Larger(most, *one);
    }
    return most;
  }
  for (ScalarFn fn : {ScalarFn::kTanh, ScalarFn::kErf, ScalarFn::kSin, ScalarFn::kCos}) {
    if (atom.Is(fn)) return UpperBound::Number(1);
  }
  const bool keeps = atom.Is(ScalarFn::kAbs);
  if (!keeps && !RoundingOf(atom)) return std::nullopt;
  auto argument = Of(*atom.args[0], context);
  if (!argument) return std::nullopt;
  return keeps ? *argument : *argument + UpperBound::Number(1);
}

bool Magnitude::IsInteger(const Atom& atom) const {
  switch (atom.kind) {
    case Atom::Kind::kRead: {
      const DType dtype = inputs_.at(static_cast<size_t>(atom.tensor)).dtype;
      return lemma::IsInteger(dtype) || dtype == DType::kBool;
    }
    case Atom::Kind::kConstant: {
      auto value = NumberOf(atom);
      return value && *value == std::floor(*value);
    }
    case Atom::Kind::kMax:
      return std::all_of(atom.alternatives.begin(), atom.alternatives.end(),
                         [&](const Alternative& a) { return IsInteger(*a.value); });
    case Atom::Kind::kFn:
      return RoundingOf(atom).has_value() || IsTruth(atom) ||
             absl::StartsWith(atom.name, "saturate_") || absl::StartsWith(atom.name, "wrap_");
    default:
      return false;
  }
}

bool Magnitude::IsInteger(const NormalForm& form) const {
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Summand& term) {
    return term.denominator == 1 && !term.coefficient.overflowed() &&
           std::all_of(term.atoms.begin(), term.atoms.end(),
                       [&](const Atom& atom) { return IsInteger(atom); });
  });
}

}  // namespace lemma::prover
