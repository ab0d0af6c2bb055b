// Identities of maxima and comparisons, which the normalizer uses on request: maxima by
// comparisons, and functions of truth values case by case.
#include <algorithm>
#include <utility>

#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

bool IsCanonicalTruth(const Atom& atom) {
  const bool compares = atom.Is(ScalarFn::kLess) || atom.Is(ScalarFn::kEqual);
  return !compares || atom.args[0]->terms.empty();
}

}  // namespace

// Of x and -x, exactly one has a negative lead (unless x is 0).
bool Normalizer::HasNegativeLead(const NormalForm& form) {
  const Summand* first = nullptr;
  std::string least;
  for (const Summand& t : form.terms) {
    std::string key = forms_.Key(t, false);
    if (first != nullptr && key >= least) continue;
    first = &t;
    least = std::move(key);
  }
  return first != nullptr && !first->coefficient.terms().empty() &&
         first->coefficient.terms().back().second < 0;
}

bool Normalizer::IsTotal(const NormalForm& form, const Facts& context) {
  auto all = [&](const Atom& atom) {
    return std::all_of(atom.args.begin(), atom.args.end(),
                       [&](const NormalFormPtr& arg) { return IsTotal(*arg, context); });
  };
  auto total = [&](const Atom& atom) {
    switch (atom.kind) {
      case Atom::Kind::kInverse:
        return IsSurelyPositive(*atom.args[0], context);
      case Atom::Kind::kFn:
        for (int i = 0; i < kNumScalarFns; ++i) {
          const ScalarFn fn = static_cast<ScalarFn>(i);
          if (!atom.Is(fn)) continue;
          if (fn == ScalarFn::kSqrt || fn == ScalarFn::kLog) {
            return IsSurelyPositive(*atom.args[0], context);
          }
          const bool divides =
              fn == ScalarFn::kMod || fn == ScalarFn::kFmod || fn == ScalarFn::kTan;
          return !Info(fn).partial() && !divides && all(atom);
        }
        return all(atom);  // storing
      default:
        return std::all_of(
            atom.alternatives.begin(), atom.alternatives.end(),
            [&](const Alternative& a) { return IsTotal(*a.value, With(context, a.guards)); });
    }
  };
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const Summand& t) {
    return std::all_of(t.atoms.begin(), t.atoms.end(), total);
  });
}

// max(x, y) = y + (x - y) * [y < x] = x + (y - x) * [x < y], where [c] is 1 if c holds, else 0.
std::optional<NormalForm> Normalizer::MaxByTruth(const Atom& atom) {
  constexpr size_t kMost = 4;
  if (atom.name != Name(ReduceKind::kMax) || atom.alternatives.empty() ||
      atom.alternatives.size() > kMost) {
    return std::nullopt;
  }
  for (const Alternative& alternative : atom.alternatives) {
    if (!IsPlain(alternative)) return std::nullopt;
  }
  NormalForm max = *atom.alternatives.back().value;
  for (size_t i = atom.alternatives.size() - 1; i-- > 0;) {
    NormalForm other = *atom.alternatives[i].value;
    NormalForm difference = Combine(Sum(other, Scaled(max, -1)));
    if (HasNegativeLead(difference)) {
      std::swap(other, max);
      difference = Scaled(difference, -1);
    }
    const NormalForm greater = FnForm(ScalarFn::kLess, {NormalForm(), difference});
    max = Sum(max, forms_.Product(difference, greater));
  }
  return max;
}

// x < y and x = y as 0 < d and 0 = d, where the coefficients of d have no common factor, and the
// first is positive.
std::optional<NormalForm> Normalizer::CanonicalComparison(const Atom& atom, const Facts& context) {
  const bool less = atom.Is(ScalarFn::kLess);
  if (!less && !atom.Is(ScalarFn::kEqual)) return std::nullopt;
  const NormalForm d = Combine(Sum(*atom.args[1], Scaled(*atom.args[0], -1)));
  const auto content = ContentOfAll(d);
  if (!content) return std::nullopt;  // CompareLaw decides comparisons of 0
  const bool negative = HasNegativeLead(d);
  const bool simple = content->content == 1 && content->common == 1;
  if (atom.args[0]->terms.empty() && simple && !negative) return std::nullopt;
  // If d has no value, neither d < 0 nor d >= 0.
  if (less && negative && !IsTotal(d, context)) return std::nullopt;
  const NormalForm rest = Scaled(WithoutContent(d, *content), negative ? -1 : 1), zero;
  const NormalForm equal = FnForm(ScalarFn::kEqual, {zero, rest});
  if (!less) return equal;
  const NormalForm above = FnForm(ScalarFn::kLess, {zero, rest});
  if (!negative) return above;
  return Sum(Number(1), Scaled(Sum(above, equal), -1));
}

// f(… t …) = t * f(… 1 …) + (1 - t) * f(… 0 …) for a truth value t. Functions that may have no
// value in the case that does not hold are left out, but for log, of which no law needs a value.
std::optional<NormalForm> Normalizer::CaseByCase(const Atom& atom, const Facts& context) {
  for (ScalarFn fn : {ScalarFn::kSqrt, ScalarFn::kPow, ScalarFn::kAsin, ScalarFn::kAcos}) {
    if (atom.Is(fn)) return std::nullopt;
  }
  std::optional<Atom> truth;
  for (const NormalFormPtr& arg : atom.args) {
    for (const Summand& t : arg->terms) {
      for (const Atom& factor : t.atoms) {
        const bool own = std::any_of(t.axes.begin(), t.axes.end(),
                                     [&](Leaf axis) { return forms_.Mentions(factor, axis); });
        if (!truth && !own && IsTruth(factor) && IsCanonicalTruth(factor)) truth = factor;
      }
    }
  }
  if (!truth) return std::nullopt;
  const std::string key = forms_.Key(*truth);
  NormalForm values[2];
  for (int value : {0, 1}) {
    std::vector<NormalForm> args;
    for (const NormalFormPtr& arg : atom.args) {
      NormalForm replaced;
      for (const Summand& t : arg->terms) {
        Summand rest = t;
        rest.atoms.erase(
            std::remove_if(rest.atoms.begin(), rest.atoms.end(),
                           [&](const Atom& factor) { return forms_.Key(factor) == key; }),
            rest.atoms.end());
        if (value == 1 || rest.atoms.size() == t.atoms.size()) {
          replaced.terms.push_back(std::move(rest));
        }
      }
      args.push_back(Combine(std::move(replaced)));
    }
    if (atom.kind == Atom::Kind::kInverse) {
      args[0] = Simplify(args[0], context);
      if (!IsSurelyPositive(args[0], context)) return std::nullopt;
      values[value] = Reciprocal(args[0]);
    } else {
      values[value] = OfAtom(FnAtom(atom.name, std::move(args)));
    }
  }
  const NormalForm t = OfAtom(*truth);
  return Sum(forms_.Product(t, Sum(values[1], Scaled(values[0], -1))), values[0]);
}

}  // namespace lemma::prover
