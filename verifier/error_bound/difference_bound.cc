#include "verifier/error_bound/difference_bound.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/work.h"
#include "graph/expr/arithmetic.h"

namespace lemma::prover {
namespace {

constexpr int kMaxDepth = 24;
// Limits on the steps (some 3 s) and on the forms of one difference. Rules take up to a tenth.
constexpr int64_t kBoundWork = 100'000'003;
constexpr int kMaxForms = 200;

// The largest |f(a) - f(b)| / |a - b|, for functions where it is finite and useful.
std::optional<double> SlopeOf(const Atom& atom) {
  if (atom.Is(ScalarFn::kErf)) return 1.1283791670955128;  // above 2 / sqrt(pi)
  for (ScalarFn fn : {ScalarFn::kAbs, ScalarFn::kTanh, ScalarFn::kSin, ScalarFn::kCos}) {
    if (atom.Is(fn)) return 1;
  }
  return std::nullopt;
}

std::optional<DType> StoredType(const Atom& atom) {
  absl::string_view name = atom.name;
  if (atom.kind != Atom::Kind::kFn || !absl::ConsumePrefix(&name, "saturate_")) return std::nullopt;
  return ParseDType(name);
}

NormalForm Greater(NormalForm a, NormalForm b) {
  Atom atom;
  atom.kind = Atom::Kind::kMax;
  atom.name = Name(ReduceKind::kMax);
  for (NormalForm* value : {&a, &b}) {
    atom.alternatives.push_back({{}, {}, Share(std::move(*value))});
  }
  return OfAtom(std::move(atom));
}

// The laws of kRing know maxima only, so a minimum is written as a maximum.
NormalForm Less(const NormalForm& a, const NormalForm& b) {
  return Scaled(Greater(Scaled(a, -1), Scaled(b, -1)), -1);
}

NormalForm FormOf(Summand term) {
  NormalForm form;
  form.terms.push_back(std::move(term));
  return form;
}

Summand WithoutAtom(Summand term, size_t i) {
  term.atoms.erase(term.atoms.begin() + static_cast<std::ptrdiff_t>(i));
  return term;
}

// Divides the summand by a positive number. If 64 bits do not hold the denominator, the coefficient
// is marked as overflowed, so that the summand has no bound.
void Divide(int64_t number, Summand* term) {
  if (__builtin_mul_overflow(term->denominator, number, &term->denominator)) {
    term->denominator = 1;
    term->coefficient = Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
  }
}

// The summand at one point of its axes. Its key then names the axes, so that factors with equal
// keys are equal at each point.
Summand AtPoint(Summand term) {
  term.axes.clear();
  return term;
}

}  // namespace

DifferenceBound::DifferenceBound(NormalForms* forms, Arith* arith,
                                 const std::vector<ExprType>* inputs,
                                 const std::map<std::string, std::pair<double, double>>* bounds)
    : forms_(*forms),
      arith_(*arith),
      equality_(forms, arith, Laws::kRing),
      magnitude_(forms, arith, inputs, bounds) {}

// 1 / (c x y) = 1/c 1/x 1/y for positive constants x and y.
void DifferenceBound::SplitInverses(Summand* term) {
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    const Atom atom = term->atoms[i];
    if (atom.kind != Atom::Kind::kInverse || atom.args[0]->terms.size() != 1) continue;
    const Summand& product = atom.args[0]->terms[0];
    const auto c = product.coefficient.AsConst();
    const bool is_constant =
        IsPlain(product) && c && *c > 0 && *c < (int64_t{1} << 31) &&
        std::all_of(product.atoms.begin(), product.atoms.end(),
                    [&](const Atom& factor) { return magnitude_.IsPositiveConstant(factor); });
    const bool is_atom = product.atoms.size() == 1 && c && *c == 1 && product.denominator == 1;
    if (!is_constant || is_atom) continue;
    *term = WithoutAtom(*term, i);
    term->coefficient = term->coefficient * Poly(product.denominator);
    Divide(*c, term);
    for (const Atom& factor : product.atoms) {
      const NormalForm inverse = Reciprocal(OfAtom(factor));
      term->atoms.insert(term->atoms.end(), inverse.terms[0].atoms.begin(),
                         inverse.terms[0].atoms.end());
    }
    return SplitInverses(term);
  }
}

void DifferenceBound::CancelInverses(Summand* term) {
  for (size_t i = 0; i < term->atoms.size(); ++i) {
    if (term->atoms[i].kind != Atom::Kind::kInverse) continue;
    const Atom* constant = OnlyAtom(*term->atoms[i].args[0]);
    if (constant == nullptr || !magnitude_.IsPositiveConstant(*constant)) continue;
    for (size_t j = 0; j < term->atoms.size(); ++j) {
      const Atom& other = term->atoms[j];
      if (other.kind != Atom::Kind::kConstant || other.name != constant->name) continue;
      *term = WithoutAtom(*term, std::max(i, j));
      *term = WithoutAtom(*term, std::min(i, j));
      return CancelInverses(term);
    }
  }
}

NormalForm DifferenceBound::Stored(const NormalForm& value, DType dtype, const Facts& context) {
  const Span type = prover::SpanOf(dtype);
  Span span = magnitude_.SpanOf(value, context);
  if (magnitude_.IsInteger(value)) {  // bounds are rounded outwards
    span.low = std::ceil(span.low);
    span.high = std::floor(span.high);
  }
  NormalForm stored = value;
  if (span.low < type.low || span.high > type.high) {
    const auto number = [](double x) { return Number(Poly(static_cast<int64_t>(x))); };
    stored = Less(Greater(stored, number(type.low)), number(type.high));
  }
  return magnitude_.IsInteger(stored) ? stored : FnForm(ScalarFn::kTrunc, {stored});
}

Atom DifferenceBound::PreparedAtom(const Atom& atom, const Facts& context) {
  Atom prepared = atom;
  for (NormalFormPtr& arg : prepared.args) arg = Share(Prepared(*arg, context));
  for (Alternative& a : prepared.alternatives) {
    a.value = Share(Prepared(*a.value, With(context, a.guards)));
  }
  return prepared;
}

std::optional<NormalForm> DifferenceBound::WrittenOut(const Atom& atom, const Facts& context) {
  if (RoundingOf(atom) && magnitude_.IsInteger(*atom.args[0])) return *atom.args[0];
  // Types of 64 bits have bounds that no double holds.
  const auto dtype = StoredType(atom);
  if (!dtype || SizeOf(*dtype) > 4) return std::nullopt;
  return Stored(*atom.args[0], *dtype, context);
}

NormalForm DifferenceBound::Prepared(const NormalForm& form, const Facts& context) {
  NormalForm result;
  for (const Summand& term : form.terms) {
    SpendWork(4);
    Summand prepared = term;
    const Facts inner = With(context, term.guards);
    for (Atom& atom : prepared.atoms) atom = PreparedAtom(atom, inner);
    SplitInverses(&prepared);
    CancelInverses(&prepared);
    result = Sum(result, WrittenOut(prepared, inner));
  }
  return result;
}

NormalForm DifferenceBound::WrittenOut(const Summand& term, const Facts& context) {
  for (size_t i = 0; i < term.atoms.size(); ++i) {
    const auto value = WrittenOut(term.atoms[i], context);
    if (!value) continue;
    NormalForm result;
    for (const Summand& replaced : Replaced(term, i, *value)) {
      result = Sum(result, WrittenOut(replaced, With(context, replaced.guards)));
    }
    return result;
  }
  return FormOf(term);
}

std::vector<Summand> DifferenceBound::Replaced(const Summand& term, size_t i,
                                               const NormalForm& factor) {
  std::vector<Summand> result;
  for (const Summand& part : factor.terms) {
    const Summand renamed = forms_.Renamed(part);
    Summand product = WithoutAtom(term, i);
    product.coefficient = product.coefficient * renamed.coefficient;
    Divide(renamed.denominator, &product);
    product.axes.insert(product.axes.end(), renamed.axes.begin(), renamed.axes.end());
    product.guards = With(product.guards, renamed.guards);
    product.atoms.insert(product.atoms.end(), renamed.atoms.begin(), renamed.atoms.end());
    result.push_back(std::move(product));
  }
  return result;
}

std::optional<UpperBound> DifferenceBound::OfAlternatives(const Atom& a, const Atom& b,
                                                          const Facts& context, int depth) {
  if (a.alternatives.size() != b.alternatives.size()) return std::nullopt;
  // Alternatives without axes that are equal on both sides do not matter.
  std::vector<const Alternative*> left, right;
  for (const Alternative& alternative : b.alternatives) right.push_back(&alternative);
  for (const Alternative& mine : a.alternatives) {
    auto same = std::find_if(right.begin(), right.end(), [&](const Alternative* other) {
      return IsPlain(mine) && IsPlain(*other) &&
             forms_.Key(*mine.value) == forms_.Key(*other->value);
    });
    same == right.end() ? left.push_back(&mine) : static_cast<void>(right.erase(same));
  }
  UpperBound most;
  for (size_t i = 0; i < left.size(); ++i) {
    const Alternative &mine = *left[i], &other = *right[i];
    if (mine.axes.size() != other.axes.size()) return std::nullopt;
    LeafMap map;
    for (size_t k = 0; k < mine.axes.size(); ++k) map[other.axes[k]] = Poly::Of(mine.axes[k]);
    Facts guards = forms_.Substitute(other.guards, map), mine_guards = mine.guards;
    std::sort(guards.begin(), guards.end());
    std::sort(mine_guards.begin(), mine_guards.end());
    if (guards != mine_guards) return std::nullopt;
    auto one = Bound(
        forms_.Substitute(Sum(*mine.value, Scaled(forms_.Substitute(*other.value, map), -1)), {}),
        With(context, mine.guards), depth + 1);
    if (!one) return std::nullopt;
    most = Larger(most, *one);
  }
  return most;
}

std::optional<UpperBound> DifferenceBound::OfAtoms(const Atom& a, const Atom& b,
                                                   const Facts& context, int depth) {
  if (a.kind != b.kind || a.name != b.name) return std::nullopt;
  if (a.kind == Atom::Kind::kMax) return OfAlternatives(a, b, context, depth);
  auto slope = SlopeOf(a);
  if (!slope || a.kind != Atom::Kind::kFn) return std::nullopt;
  auto arguments = Bound(Sum(*a.args[0], Scaled(*b.args[0], -1)), context, depth + 1);
  if (!arguments) return std::nullopt;
  return UpperBound::Number(*slope) * *arguments;
}

DifferenceBound::Factored DifferenceBound::Collect(const NormalForm& form, const Summand& like,
                                                   const Atom& atom) {
  Factored result;
  const std::string key = forms_.Key(atom);
  Summand domain = AtPoint(like);
  domain.atoms.clear();
  domain.coefficient = 1;
  domain.denominator = 1;
  for (const Summand& term : form.terms) {
    Summand at = term;
    if (term.axes.size() == like.axes.size()) {
      LeafMap map;
      for (size_t k = 0; k < like.axes.size(); ++k) map[term.axes[k]] = Poly::Of(like.axes[k]);
      at = forms_.Substitute(term, map);
    }
    at = AtPoint(at);
    Summand of_term = domain;
    of_term.guards = at.guards;
    const bool is_alike =
        term.axes.size() == like.axes.size() && forms_.Key(of_term) == forms_.Key(domain);
    auto same = std::find_if(at.atoms.begin(), at.atoms.end(),
                             [&](const Atom& other) { return forms_.Key(other) == key; });
    if (!is_alike || same == at.atoms.end()) {
      result.rest.terms.push_back(term);
      continue;
    }
    at = WithoutAtom(at, static_cast<size_t>(same - at.atoms.begin()));
    at.guards.clear();
    result.factor.terms.push_back(std::move(at));
  }
  return result;
}

std::optional<UpperBound> DifferenceBound::OfFactor(const NormalForm& factor, const Summand& like,
                                                    const Facts& context) {
  Summand domain = like;
  domain.coefficient = 1;
  domain.denominator = 1;
  domain.atoms.clear();
  auto points = magnitude_.Of(domain, context);
  auto value = magnitude_.Of(factor, With(context, like.guards));
  if (!points || !value) return std::nullopt;
  return *points * *value;
}

std::optional<UpperBound> DifferenceBound::ByPairs(const NormalForm& form, const Facts& context,
                                                   bool same_factors, int depth) {
  std::optional<UpperBound> best;
  for (const Summand& mine : form.terms) {
    for (const Atom& atom : mine.atoms) {
      if (atom.kind != Atom::Kind::kMax && !SlopeOf(atom)) continue;
      const Factored first = Collect(form, mine, atom);
      for (const Summand& term : first.rest.terms) {
        if (term.axes.size() != mine.axes.size()) continue;
        LeafMap map;
        for (size_t k = 0; k < mine.axes.size(); ++k) map[term.axes[k]] = Poly::Of(mine.axes[k]);
        for (const Atom& rival : forms_.Substitute(term, map).atoms) {
          if (rival.kind != atom.kind || rival.name != atom.name) continue;
          const Factored second = Collect(first.rest, mine, rival);
          if (second.factor.terms.empty()) continue;
          auto pair = OfPair(mine, {atom, first.factor}, {rival, second.factor}, context,
                             same_factors, depth);
          auto rest = pair ? Bound(second.rest, context, depth + 1) : std::nullopt;
          if (!rest) continue;
          const UpperBound sum = *pair + *rest;
          if (!best || AtMost(sum, *best)) best = sum;
          if (same_factors) return best;
        }
      }
    }
  }
  return best;
}

// x f(a) + y f(b) = x (f(a) - f(b)) + (x + y) f(b)
std::optional<UpperBound> DifferenceBound::OfPair(const Summand& like, const Product& a,
                                                  const Product& b, const Facts& context,
                                                  bool same_factors, int depth) {
  const Facts inner = With(context, like.guards);
  const NormalForm sum = Sum(a.factor, b.factor);
  const bool cancels = equality_.IsZero(sum, inner);
  if (cancels != same_factors) return std::nullopt;
  auto factor = OfFactor(a.factor, like, context);
  auto atoms = factor ? OfAtoms(a.atom, b.atom, inner, depth) : std::nullopt;
  if (!atoms) return std::nullopt;
  const UpperBound changed = *factor * *atoms;
  if (cancels) return changed;
  auto rest = Bound(sum, inner, depth + 1);
  auto other = rest ? OfFactor(OfAtom(b.atom), like, context) : std::nullopt;
  if (!other) return std::nullopt;
  return changed + *other * *rest;
}

std::optional<UpperBound> DifferenceBound::ByRounding(const NormalForm& form, const Facts& context,
                                                      int depth) {
  for (const Summand& term : form.terms) {
    for (const Atom& atom : term.atoms) {
      const auto fn = RoundingOf(atom);
      if (!fn) continue;
      const Factored factored = Collect(form, term, atom);
      auto factor = OfFactor(factored.factor, term, context);
      if (!factor) continue;
      // The same sum with the argument in place of the rounded value.
      NormalForm unrounded = factored.rest;
      for (Summand part : factored.factor.terms) {
        part.axes = term.axes;
        part.guards = term.guards;
        part.atoms.push_back(atom);
        const auto replaced = Replaced(part, part.atoms.size() - 1, *atom.args[0]);
        unrounded.terms.insert(unrounded.terms.end(), replaced.begin(), replaced.end());
      }
      const double off = *fn == ScalarFn::kRound ? 0.5 : 1;
      if (auto others = Bound(unrounded, context, depth + 1)) {
        return *factor * UpperBound::Number(off) + *others;
      }
    }
  }
  return std::nullopt;
}

std::optional<UpperBound> DifferenceBound::Bound(const NormalForm& difference, const Facts& context,
                                                 int depth) {
  SpendWork(10);
  if (depth > kMaxDepth || ++forms_tried_ > kMaxForms) return std::nullopt;
  const NormalForm simple = equality_.normalizer().Simplify(Prepared(difference, context), context);
  if (equality_.IsZero(simple, context)) return UpperBound();
  const NormalForm form = equality_.remaining();
  for (const bool same_factors : {true, false}) {
    if (auto bound = ByPairs(form, context, same_factors, depth)) return bound;
  }
  if (auto bound = ByRounding(form, context, depth)) return bound;
  auto whole = magnitude_.Of(form, context);
  if (!whole && depth == 0) remainder_ = equality_.remainder();
  if (!whole && remainder_.empty()) remainder_ = forms_.ToString(form);
  return whole;
}

std::optional<UpperBound> DifferenceBound::Of(const NormalForm& difference, const Facts& context) {
  remainder_.clear();
  forms_tried_ = 0;
  WorkScope work(kBoundWork);
  try {
    return Bound(difference, context, 0);
  } catch (const WorkEnded& end) {
    if (end.limit != kBoundWork) throw;  // the limit of the whole proof, or interrupted
    remainder_ = "a difference with this many parts; the limit on steps was reached";
    return std::nullopt;
  }
}

std::optional<UpperBound> DifferenceBound::AsLimit(const NormalForm& form, const Facts& context) {
  UpperBound sum;
  for (const Summand& term :
       equality_.normalizer().Simplify(Prepared(form, context), context).terms) {
    auto one = magnitude_.Exactly(term, context);
    if (!one) return std::nullopt;
    for (const auto& [powers, coefficient] : one->terms) {
      if (sum.terms.count(powers) > 0) return std::nullopt;  // a sum could be rounded up
      sum.terms[powers] = coefficient;
    }
  }
  return sum;
}

}  // namespace lemma::prover
