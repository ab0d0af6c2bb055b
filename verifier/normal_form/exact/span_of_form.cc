// What normal forms show of their values.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/work.h"
#include "graph/expr/arithmetic.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

// The element type after `prefix` in the name of a function.
std::optional<DType> TypeAfter(absl::string_view name, absl::string_view prefix) {
  if (!absl::ConsumePrefix(&name, prefix)) return std::nullopt;
  return ParseDType(name);
}

// To an integer, monotonically.
double RoundedTo(ScalarFn fn, double x) {
  if (fn == ScalarFn::kFloor) return std::floor(x);
  if (fn == ScalarFn::kCeil) return std::ceil(x);
  return fn == ScalarFn::kTrunc ? std::trunc(x) : std::nearbyint(x);
}

}  // namespace

// P <= c follows from a fact d - m * q >= 0, where P = a * q and q is a product.
double Normalizer::UpperBound(const Poly& p, const Facts& context) {
  if (p.overflowed()) return kInfinity;
  if (auto c = p.AsConst()) return static_cast<double>(*c);
  if (p.terms().size() != 1) return kInfinity;
  const auto& [product, a] = *p.terms().begin();
  if (a <= 0) return kInfinity;
  double bound = kInfinity;
  for (const Fact& fact : context) {
    if (fact.kind != Fact::Kind::kGe || fact.p.overflowed()) continue;
    const int64_t m = -fact.p.CoefficientOf(product);
    if (m <= 0) continue;
    const auto d = (fact.p + Poly::Of(product, m)).AsConst();
    if (d && *d >= 0) {
      bound = std::min(bound, std::floor(static_cast<double>(*d) / static_cast<double>(m)) *
                                  static_cast<double>(a));
    }
  }
  return bound;
}

Span Normalizer::SpanOf(const NormalForm& form, const Facts& context) {
  SpendWork(4);
  if (form.terms.empty()) return prover::SpanOf(0.0);
  Span sum = SpanOf(form.terms[0], context);
  for (size_t i = 1; i < form.terms.size(); ++i) {
    const Span term = SpanOf(form.terms[i], context);
    // The terms may exclude each other.
    const bool minus_zero = sum.minus_zero || term.minus_zero;
    sum = Plus(sum, term);
    sum.minus_zero = minus_zero;
  }
  if (form.terms.size() > 1 && !remembered_.empty()) {
    if (auto it = remembered_.find(forms_.Key(form)); it != remembered_.end()) {
      sum.low = std::max(sum.low, it->second.low);
      sum.high = std::min(sum.high, it->second.high);
    }
  }
  return sum;
}

// A product of sums has wider bounds once it is a sum of products.
void Normalizer::Remember(const NormalForm& form, const Span& span) {
  if (form.terms.size() > 1 && span.exact) remembered_.emplace(forms_.Key(form), span);
}

// A sum over axes has at most as many summands as the ranges of its axes allow.
Span Normalizer::SpanOf(const Summand& term, const Facts& context) {
  if (term.coefficient.overflowed()) return {};
  const bool bare = term.coefficient == Poly(1) && term.denominator == 1 && term.axes.empty() &&
                    term.atoms.size() == 1;
  if (bare) {
    Span span = SpanOf(term.atoms[0], context);
    return term.guards.empty() ? span : Hull(span, prover::SpanOf(0.0));
  }
  const auto c = term.coefficient.AsConst();
  Span span = {0, UpperBound(term.coefficient, context), true, 0, false};
  if (c) span.low = span.high = static_cast<double>(*c);
  if (!c && !arith_.NonNegative(context, term.coefficient)) span.low = -kInfinity;
  if (term.denominator != 1) {
    const double inverse = 1.0 / static_cast<double>(term.denominator);
    const bool power = (term.denominator & (term.denominator - 1)) == 0;
    if (!power) span.exact = false;
    span = Times(span, {inverse, inverse, power,
                        power ? static_cast<int>(std::log2(term.denominator)) : 0, false});
    if (!power) span.exact = false;
  }
  for (const Atom& atom : term.atoms) span = Times(span, SpanOf(atom, context));
  if (!term.guards.empty() || !term.axes.empty()) span = Hull(span, prover::SpanOf(0.0));
  double points = 1;
  Poly product = 1;
  for (Leaf axis : term.axes) {
    // The axis runs from 0 to less than `extent`.
    double most = kInfinity;
    Poly extents = 0;
    const bool from_zero = std::any_of(
        term.guards.begin(), term.guards.end(),
        [&](const Fact& fact) { return fact.kind == Fact::Kind::kGe && fact.p == Poly::Of(axis); });
    for (const Fact& fact : term.guards) {
      if (!from_zero || fact.kind != Fact::Kind::kGe || fact.p.overflowed()) continue;
      const Poly extent = fact.p + Poly::Of(axis) + 1;
      if (fact.p.CoefficientOf({axis}) != -1 || leaves_.Mentions(extent, axis)) continue;
      const double bound = UpperBound(extent, context);
      if (bound < most || extents.IsZero()) extents = extent;
      most = std::min(most, bound);
    }
    if (extents.IsZero()) return {};
    points *= std::max(most, 0.0);
    product = product * extents;
  }
  if (!term.axes.empty()) {
    points = std::max(
        0.0, std::min(std::isnan(points) ? kInfinity : points, UpperBound(product, context)));
    span = Times(span, {0, points, true, 0, false});
  }
  span.minus_zero = false;
  return span;
}

Span Normalizer::SpanOfExtreme(const Atom& atom, const Facts& context) {
  const bool max = atom.name == Name(ReduceKind::kMax);
  Span span;
  span.low = kInfinity;
  span.high = -kInfinity;
  span.exact = true;
  bool exists = false;
  double sure = max ? -kInfinity : kInfinity;
  for (const Alternative& a : atom.alternatives) {
    const Span value = SpanOf(*a.value, With(context, a.guards));
    span = Hull(span, value);
    if (!HasPoint(a.axes, a.guards, context)) continue;
    exists = true;
    sure = max ? std::max(sure, value.low) : std::min(sure, value.high);
  }
  if (!exists) return {};
  (max ? span.low : span.high) = max ? std::max(span.low, sure) : std::min(span.high, sure);
  return span;
}

Span Normalizer::SpanOf(const Atom& atom, const Facts& context) {
  if (inputs_ == nullptr) return {};
  double value = 0;
  switch (atom.kind) {
    case Atom::Kind::kRead:
      return prover::SpanOf(inputs_->at(static_cast<size_t>(atom.tensor)).dtype);
    case Atom::Kind::kConstant: {
      absl::string_view name = atom.name;
      if (absl::ConsumePrefix(&name, "c:") && absl::SimpleAtod(name, &value)) {
        return prover::SpanOf(value);
      }
      if (name = atom.name; absl::ConsumePrefix(&name, "p:") && bounds_ != nullptr) {
        auto at = bounds_->find(std::string(name));
        if (at != bounds_->end()) return {at->second.first, at->second.second, false, 0, false};
      }
      return {};
    }
    case Atom::Kind::kMax:
      return SpanOfExtreme(atom, context);
    case Atom::Kind::kFn:
      break;
    default:
      return {};
  }
  for (const char* prefix : {"saturate_", "wrap_"}) {
    if (auto dtype = TypeAfter(atom.name, prefix)) return prover::SpanOf(*dtype);
  }
  if (IsTruth(atom)) return prover::SpanOf(DType::kBool);
  if (auto fn = RoundingOf(atom)) {
    Span span = SpanOf(*atom.args[0], context);
    span.minus_zero = span.minus_zero || (span.unit > 0 && span.low < 0) || !span.exact;
    span.low = RoundedTo(*fn, span.low);
    span.high = RoundedTo(*fn, span.high);
    span.unit = 0;
    return span;
  }
  if (auto dtype = TypeAfter(atom.name, "round_"); dtype && IsFloat(*dtype)) {
    Span span = SpanOf(*atom.args[0], context);
    if (span.Fits(*dtype)) return span;
    // Rounding is monotonic, and keeps small integers. It changes normal numbers by less than 1 %.
    const double most = std::ldexp(1.0, DigitsOf(*dtype));
    const double normal = *dtype == DType::kF16 ? 0x1p-14 : 0x1p-126;
    const double large = *dtype == DType::kF16 ? 60000 : 1e38;
    auto bound = [&](double x, double outwards) {
      if (x == std::floor(x) && std::abs(x) <= most) return x;
      const bool near = std::abs(x) >= 2 * normal && std::abs(x) <= large;
      return near ? x + outwards * std::abs(x) / 100 : outwards * kInfinity;
    };
    span.low = bound(span.low, -1);
    span.high = bound(span.high, 1);
    span.exact = false;
    span.minus_zero = true;
    return span;
  }
  if (atom.name == kPlusZero) {
    Span span = SpanOf(*atom.args[0], context);
    span.minus_zero = false;
    return span;
  }
  if (atom.Is(ScalarFn::kWhere)) {
    return Hull(SpanOf(*atom.args[1], context), SpanOf(*atom.args[2], context));
  }
  Span unknown;
  unknown.minus_zero = true;
  return unknown;
}

bool Normalizer::Holds(DType dtype, const Atom& atom, const Facts& context) {
  if (inputs_ == nullptr) return false;
  auto args = [&](size_t from) {
    return std::all_of(atom.args.begin() + static_cast<std::ptrdiff_t>(from), atom.args.end(),
                       [&](const NormalFormPtr& arg) { return Holds(dtype, *arg, context); });
  };
  double value = 0;
  switch (atom.kind) {
    case Atom::Kind::kRead:
      return lemma::Holds(dtype, inputs_->at(static_cast<size_t>(atom.tensor)).dtype);
    case Atom::Kind::kConstant:
      return absl::StartsWith(atom.name, "c:") && absl::SimpleAtod(atom.name.substr(2), &value) &&
             lemma::Holds(dtype, value);
    case Atom::Kind::kMax:
      return std::all_of(atom.alternatives.begin(), atom.alternatives.end(),
                         [&](const Alternative& a) { return Holds(dtype, *a.value, context); });
    case Atom::Kind::kFn:
      break;
    default:
      return false;
  }
  if (atom.name == RoundingTo(dtype)) return true;
  if (atom.name == kPlusZero) return args(0);
  for (int i = 0; i < kNumScalarFns; ++i) {
    const ScalarFn fn = static_cast<ScalarFn>(i);
    if (!atom.Is(fn)) continue;
    return Info(fn).truth() || (Info(fn).exact() && args(fn == ScalarFn::kWhere ? 1 : 0));
  }
  return false;
}

bool Normalizer::Holds(DType dtype, const NormalForm& form, const Facts& context) {
  if (SpanOf(form, context).Fits(dtype)) return true;
  if (form.terms.size() != 1) return false;
  const Summand& t = form.terms[0];
  const bool bare = (t.coefficient == Poly(1) || t.coefficient == Poly(-1)) && t.denominator == 1 &&
                    t.axes.empty() && t.guards.empty() && t.atoms.size() == 1;
  return bare && Holds(dtype, t.atoms[0], context);
}

}  // namespace lemma::prover
