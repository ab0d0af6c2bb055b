// Laws that hold bit by bit, also for infinities and NaN: of rounding to a type and to integers, of
// storing, and of clamping (docs/proofs.md#exact-arithmetic).
//
// Invariant: a form is exact, a finite number that every type on the way holds, and never -0; or it
// is a single atom or its negation, under guards; or a sum of such that exclude each other by their
// guards, as the parts of a concatenation do.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

constexpr char kMaxName[] = "max", kMinName[] = "min";

bool IsExtreme(const Atom* atom) { return atom != nullptr && atom->kind == Atom::Kind::kMax; }

bool IsPlain(const Alternative& a) { return a.axes.empty() && a.guards.empty(); }

// The element type that a storing function names, and whether it wraps.
std::optional<DType> StoredType(const Atom& atom, bool* wraps) {
  absl::string_view name = atom.name;
  *wraps = absl::ConsumePrefix(&name, "wrap_");
  if (!*wraps && !absl::ConsumePrefix(&name, "saturate_")) return std::nullopt;
  return ParseDType(name);
}

std::optional<DType> RoundedType(const Atom& atom) {
  absl::string_view name = atom.name;
  if (!absl::ConsumePrefix(&name, "round_")) return std::nullopt;
  const std::optional<DType> dtype = ParseDType(name);
  return dtype && IsFloat(*dtype) ? dtype : std::nullopt;
}

// The position of the only summand that is a positive number times a maximum or minimum.
size_t ExtremeIn(const NormalForm& form) {
  size_t found = form.terms.size();
  for (size_t i = 0; i < form.terms.size(); ++i) {
    const Summand& t = form.terms[i];
    if (!t.axes.empty() || !t.guards.empty() || t.atoms.size() != 1) continue;
    if (!IsExtreme(&t.atoms[0]) || t.atoms[0].alternatives.empty()) continue;
    if (t.coefficient.AsConst().value_or(0) <= 0) continue;
    if (found < form.terms.size()) return form.terms.size();
    found = i;
  }
  return found;
}

// The largest finite number of the type.
double LargestOf(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  return dtype == DType::kF64 ? 1.7e308 : 3.3e38;
}

// Whether it is no NaN: exact, or a constant, rounded or not.
bool IsNotNaN(const NormalForm& form, const Span& span) {
  const Atom* atom = OnlyAtom(form);
  if (atom != nullptr && RoundedType(*atom)) atom = OnlyAtom(*atom->args[0]);
  return span.exact || (atom != nullptr && atom->kind == Atom::Kind::kConstant &&
                        !std::isnan(span.low) && span.low <= span.high);
}

}  // namespace

std::string RoundingTo(DType dtype) { return absl::StrCat("round_", Name(dtype)); }

std::optional<NormalForm> Normalizer::ExactLaw(const Atom& atom, const Facts& context) {
  if (atom.kind == Atom::Kind::kMax) {
    if (auto simpler = MaxLaw(atom, context)) return simpler;
    if (auto simpler = ContentLaw(atom, context)) return simpler;
    return ClampLaw(atom, context);
  }
  if (atom.kind != Atom::Kind::kFn) return std::nullopt;
  bool wraps = false;
  if (auto dtype = StoredType(atom, &wraps)) return StoredLaw(atom, *dtype, wraps, context);
  if (auto dtype = RoundedType(atom)) return RoundedLaw(atom, *dtype, context);
  if (RoundingOf(atom)) return ToIntegerLaw(atom, context);
  if (atom.Is(ScalarFn::kMul) || atom.Is(ScalarFn::kDiv)) {
    // 0 * s = 0 / s = 0 for a finite s > 0.
    for (size_t at = 0; at < (atom.Is(ScalarFn::kMul) ? 2 : 1); ++at) {
      const Span s = SpanOf(*atom.args[1 - at], context);
      const bool positive = s.low > 0 && std::isfinite(s.high) && IsNotNaN(*atom.args[1 - at], s);
      if (atom.args[at]->terms.empty() && positive) return NormalForm();
    }
  }
  if (atom.name == kPlusZero) {
    const Span span = SpanOf(*atom.args[0], context);
    if (span.exact && !span.minus_zero) return *atom.args[0];
    const Atom* inner = OnlyAtom(*atom.args[0]);
    if (inner != nullptr && inner->name == kPlusZero) return *atom.args[0];
  }
  return std::nullopt;
}

// fn(max(x, y)) = max(fn(x), fn(y)) for a monotonic function, also of infinities and NaN, if `fn`
// has one argument, or if it multiplies by a positive number, or divides by one, or adds or
// subtracts a finite number. Under `outer`, which rounds, if that is not `fn`.
std::optional<NormalForm> Normalizer::Monotone(const Atom& outer, const Atom& fn,
                                               const Facts& context) {
  const bool times = fn.Is(ScalarFn::kMul), over = fn.Is(ScalarFn::kDiv);
  const bool plus = fn.Is(ScalarFn::kAdd), minus = fn.Is(ScalarFn::kSub);
  const bool unary = RoundingOf(fn).has_value() || RoundedType(fn).has_value();
  if (!unary && !times && !over && !plus && !minus) return std::nullopt;
  for (size_t at = 0; at < ((times || plus) ? 2 : 1); ++at) {
    // c * max(x, y) + rest, where all but the maximum alone is exact.
    const NormalForm& arg = *fn.args[at];
    const size_t i = ExtremeIn(arg);
    if (i == arg.terms.size()) continue;
    const Summand& summand = arg.terms[i];
    const Atom* extreme = &summand.atoms[0];
    const bool alone = OnlyAtom(arg) != nullptr;
    if (!alone && !SpanOf(arg, context).exact) continue;
    NormalForm rest = arg;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    if (!unary) {
      const Span other = SpanOf(*fn.args[1 - at], context);
      const bool finite = std::isfinite(other.low) && std::isfinite(other.high);
      if (!finite || !IsNotNaN(*fn.args[1 - at], other)) continue;
      if ((times || over) && other.low <= 0) continue;
    }
    Atom result = forms_.Substitute(*extreme, {});
    for (Alternative& a : result.alternatives) {
      Atom inner = fn;
      inner.args[at] = a.value;
      if (!alone) {
        Summand factor = summand;
        factor.atoms.clear();
        inner.args[at] =
            Share(Sum(forms_.Product(NormalForm{{factor}}, *a.value), forms_.Substitute(rest, {})));
      }
      if (&outer == &fn) {
        a.value = Share(OfAtom(std::move(inner)));
      } else {
        a.value = Share(OfAtom(FnAtom(outer.name, {OfAtom(std::move(inner))})));
      }
    }
    return OfAtom(std::move(result));
  }
  return std::nullopt;
}

// round(x) = x for a number of the type.
std::optional<NormalForm> Normalizer::RoundedLaw(const Atom& atom, DType dtype,
                                                 const Facts& context) {
  const NormalForm& x = *atom.args[0];
  if (Holds(dtype, x, context)) return x;
  const Atom* inner = OnlyAtom(x);
  if (inner == nullptr) return std::nullopt;
  if (IsExtreme(inner)) return Monotone(atom, atom, context);
  if (inner->kind != Atom::Kind::kFn) return std::nullopt;
  if (inner->args.size() == 2) {
    // An operator on exact numbers whose result the type holds.
    const NormalForm &a = *inner->args[0], &b = *inner->args[1];
    const Span p = SpanOf(a, context), q = SpanOf(b, context);
    const bool times = inner->Is(ScalarFn::kMul);
    const bool plus = inner->Is(ScalarFn::kAdd), minus = inner->Is(ScalarFn::kSub);
    if (p.exact && q.exact && !p.minus_zero && !q.minus_zero) {
      if (times && !ProductMayBeMinusZero(p, q) && Times(p, q).Fits(dtype)) {
        return forms_.Product(a, b);
      }
      if ((plus || minus) && Plus(p, Times(q, prover::SpanOf(minus ? -1.0 : 1.0))).Fits(dtype)) {
        return Sum(a, Scaled(b, minus ? -1 : 1));
      }
    }
  }
  return Monotone(atom, *inner, context);
}

// f(n) = n for integers n, f(g(x)) = g(x), f(max(x, y)) = max(f(x), f(y)); and
// round(n * s / s) = n, where both operators round: the quotient is off by less than 1/2.
std::optional<NormalForm> Normalizer::ToIntegerLaw(const Atom& atom, const Facts& context) {
  const NormalForm& x = *atom.args[0];
  if (SpanOf(x, context).is_integer()) return x;
  const Atom* inner = OnlyAtom(x);
  if (inner == nullptr) return std::nullopt;
  if (RoundingOf(*inner)) return x;
  if (IsExtreme(inner)) return Monotone(atom, atom, context);
  const std::optional<DType> dtype = RoundedType(*inner);
  if (!dtype || !atom.Is(ScalarFn::kRound)) return std::nullopt;
  const Atom* quotient = OnlyAtom(*inner->args[0]);
  if (quotient == nullptr || !quotient->Is(ScalarFn::kDiv)) return std::nullopt;
  const Atom* rounded = OnlyAtom(*quotient->args[0]);
  if (rounded == nullptr || RoundedType(*rounded) != dtype) return std::nullopt;
  const Atom* product = OnlyAtom(*rounded->args[0]);
  if (product == nullptr || !product->Is(ScalarFn::kMul)) return std::nullopt;
  const std::string key = forms_.Key(*quotient->args[1]);
  const Span s = SpanOf(*quotient->args[1], context);
  if (!IsNotNaN(*quotient->args[1], s) || (s.low <= 0 && s.high >= 0)) return std::nullopt;
  for (size_t at = 0; at < 2; ++at) {
    if (forms_.Key(*product->args[1 - at]) != key) continue;
    // With a relative error of u = 2^-p twice, |n| * (2u + u²) < 1/2. A product below the normal
    // numbers is a multiple of the least one, as s is, so it is exact. It must not overflow.
    const Span n = SpanOf(*product->args[at], context);
    const double most = std::max(std::abs(n.low), std::abs(n.high));
    const double largest = std::max(std::abs(s.low), std::abs(s.high));
    const bool near = n.is_integer() && !n.minus_zero &&
                      most <= std::ldexp(1.0, DigitsOf(*dtype) - 3) &&
                      most * largest <= LargestOf(*dtype) / 2;
    if (near) return *product->args[at];
  }
  return std::nullopt;
}

// Storing a number of the type keeps it. What saturates anyway need not be clamped before. Sums and
// products of integers may wrap before or after.
std::optional<NormalForm> Normalizer::StoredLaw(const Atom& atom, DType dtype, bool wraps,
                                                const Facts& context) {
  const NormalForm& x = *atom.args[0];
  if (const Span span = SpanOf(x, context); span.Fits(dtype)) {
    return span.minus_zero ? OfAtom(FnAtom(kPlusZero, {x})) : x;  // no integer is -0
  }
  const Atom* inner = OnlyAtom(x);
  if (!wraps) {
    if (inner == nullptr) return std::nullopt;
    auto again = [&](NormalForm form) { return OfAtom(FnAtom(atom.name, {std::move(form)})); };
    // It cuts fractions off itself, and an integer has no sign of zero.
    if (inner->name == kPlusZero || inner->Is(ScalarFn::kTrunc)) return again(*inner->args[0]);
    if (!IsExtreme(inner)) return std::nullopt;
    const Span all = prover::SpanOf(dtype);
    const bool max = inner->name == kMaxName;
    Atom less = forms_.Substitute(*inner, {});
    bool changed = false;
    for (size_t i = less.alternatives.size(); i-- > 0;) {
      Alternative& a = less.alternatives[i];
      const Span value = SpanOf(*a.value, context);
      const bool useless = value.exact && (max ? value.high <= all.low : value.low >= all.high);
      if (IsPlain(a) && useless && less.alternatives.size() > 1) {
        less.alternatives.erase(less.alternatives.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
        continue;
      }
      const Atom* value_atom = OnlyAtom(*a.value);
      if (value_atom != nullptr && value_atom->name == kPlusZero) {
        a.value = value_atom->args[0];
        changed = true;
      }
    }
    return changed ? std::optional<NormalForm>(again(OfAtom(std::move(less)))) : std::nullopt;
  }
  // Modulo 2^bits.
  const bool whole = std::all_of(x.terms.begin(), x.terms.end(), [&](const Summand& t) {
    return t.denominator == 1 && !t.coefficient.overflowed() &&
           std::all_of(t.atoms.begin(), t.atoms.end(),
                       [&](const Atom& a) { return SpanOf(a, context).is_integer(); });
  });
  if (!whole) return std::nullopt;
  NormalForm sum;
  bool changed = false;
  for (const Summand& t : x.terms) {
    size_t at = 0;
    for (; at < t.atoms.size(); ++at) {
      bool inner_wraps = false;
      const auto stored = t.atoms[at].kind == Atom::Kind::kFn
                              ? StoredType(t.atoms[at], &inner_wraps)
                              : std::nullopt;
      if (stored && inner_wraps && BitsOf(*stored) >= BitsOf(dtype)) break;
    }
    if (at == t.atoms.size()) {
      sum.terms.push_back(t);
      continue;
    }
    changed = true;
    for (const Summand& part : t.atoms[at].args[0]->terms) {
      Summand other = forms_.Renamed(part), product = t;
      product.atoms.erase(product.atoms.begin() + static_cast<std::ptrdiff_t>(at));
      if (other.denominator != 1) return std::nullopt;
      product.coefficient = product.coefficient * other.coefficient;
      product.axes.insert(product.axes.end(), other.axes.begin(), other.axes.end());
      product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
      product.atoms.insert(product.atoms.end(), other.atoms.begin(), other.atoms.end());
      sum.terms.push_back(std::move(product));
    }
  }
  if (!changed) return std::nullopt;
  return OfAtom(FnAtom(atom.name, {std::move(sum)}));
}

// max(c*x, c*y) = c * max(x, y) for a fraction c > 0 and exact numbers.
std::optional<NormalForm> Normalizer::ContentLaw(const Atom& atom, const Facts& context) {
  int64_t content = 0, common = 1;  // content / common divides all
  std::vector<std::optional<Content>> contents;
  for (const Alternative& a : atom.alternatives) {
    if (!SpanOf(*a.value, With(context, a.guards)).exact) return std::nullopt;
    contents.push_back(std::nullopt);
    if (a.value->terms.empty()) continue;
    contents.back() = ContentOfAll(*a.value);
    if (!contents.back() || contents.back()->common > 4096) return std::nullopt;
    common = std::lcm(common, contents.back()->common);
    if (common > (1 << 24)) return std::nullopt;
  }
  for (const auto& c : contents) {
    int64_t scaled = 0;
    if (c && __builtin_mul_overflow(c->content, common / c->common, &scaled)) return std::nullopt;
    content = std::gcd(content, scaled);
  }
  if (content == 0 || content == common) return std::nullopt;
  Atom smaller = forms_.Substitute(atom, {});
  for (Alternative& a : smaller.alternatives) {
    NormalForm value = *a.value;
    for (Summand& t : value.terms) {
      t.coefficient = *ExactQuotient(t.coefficient * (common / t.denominator), content);
      t.denominator = 1;
    }
    a.value = Share(std::move(value));
  }
  NormalForm result = OfAtom(std::move(smaller));
  const int64_t g = std::gcd(content, common);
  result.terms[0].coefficient = content / g;
  result.terms[0].denominator = common / g;
  return result;
}

// max(min(x, b), d) = min(max(x, d), b) for numbers d <= b: the minimum goes outside.
std::optional<NormalForm> Normalizer::ClampLaw(const Atom& atom, const Facts& context) {
  if (atom.name != kMaxName || atom.alternatives.size() < 2) return std::nullopt;
  size_t at = atom.alternatives.size();
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < atom.alternatives.size(); ++i) {
    const Alternative& a = atom.alternatives[i];
    if (!IsPlain(a)) return std::nullopt;
    const Atom* value = OnlyAtom(*a.value);
    if (IsExtreme(value) && value->name == kMinName) {
      if (at < atom.alternatives.size()) return std::nullopt;
      at = i;
      continue;
    }
    const Span span = SpanOf(*a.value, context);
    if (!span.exact || span.low != span.high) return std::nullopt;
    largest = std::max(largest, span.high);
  }
  if (at == atom.alternatives.size()) return std::nullopt;
  const Atom least = forms_.Substitute(*OnlyAtom(*atom.alternatives[at].value), {});
  Atom result = least;
  bool bounded = false;
  for (Alternative& a : result.alternatives) {
    if (!IsPlain(a)) return std::nullopt;
    const Span span = SpanOf(*a.value, context);
    if (span.exact && span.low == span.high) {
      if (span.low < largest) return std::nullopt;
      bounded = true;
      continue;
    }
    Atom max = forms_.Substitute(atom, {});
    max.alternatives[at].value = a.value;
    a.value = Share(OfAtom(std::move(max)));
  }
  return bounded ? std::optional<NormalForm>(OfAtom(std::move(result))) : std::nullopt;
}

}  // namespace lemma::prover
