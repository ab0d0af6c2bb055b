#include "verifier/normal_form/equality.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"

namespace lemma::prover {
namespace {

constexpr int kMaxRounds = 300;

}  // namespace

bool Equality::AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context) {
  return IsZero(Sum(a, Scaled(b, -1)), context);
}

bool Equality::IsZero(const NormalForm& difference, const Facts& context) {
  if (depth_ > 8 || budget_ <= 0) {
    if (depth_ == 0) {
      remaining_ = difference;
      remainder_ = forms_.Key(difference);
    }
    return false;
  }
  NormalForm form = normalizer_.Simplify(difference, context);
  StepLog* outermost = depth_ == 0 ? log : nullptr;
  if (outermost != nullptr) outermost->Difference(form.terms);
  ++depth_;
  bool zero = true;
  for (int round = 0; round < kMaxRounds && !form.terms.empty(); ++round) {
    if (!CancelOnce(&form.terms, context)) break;
    form = normalizer_.Combine(std::move(form));
    if (outermost != nullptr) outermost->Collected(form.terms);
  }
  --depth_;
  NormalForm left;
  for (Summand& term : form.terms) {
    const Facts all = With(context, term.guards);
    if ((!term.guards.empty() && arith_.Contradicts(context, term.guards, Effort::kFull)) ||
        arith_.Equal(all, term.coefficient, 0, Effort::kFull)) {
      if (outermost != nullptr) outermost->Zero(term);
      continue;
    }
    left.terms.push_back(std::move(term));
    zero = false;
    if (depth_ > 0) break;
  }
  if (!zero && depth_ == 0) {
    remainder_ = forms_.Key(left);
    remaining_ = std::move(left);
  }
  return zero;
}

std::optional<NormalForm> Equality::Merged(const NormalForm& form, const Facts& context) {
  NormalForm merged = form;
  if (!AddUpUnder(&merged, context)) return std::nullopt;
  return normalizer_.Simplify(merged, context);
}

bool Equality::AddUpUnder(NormalForm* form, const Facts& context) {
  bool changed = false;
  auto add_up = [&](NormalFormPtr* part, const Facts& here) {
    NormalForm sum = **part;
    if (!AddUp(&sum, here)) return;
    *part = Share(std::move(sum));
    changed = true;
  };
  for (Summand& term : form->terms) {
    const Facts here = With(context, term.guards);
    for (Atom& atom : term.atoms) {
      for (NormalFormPtr& arg : atom.args) add_up(&arg, here);
      for (Alternative& a : atom.alternatives) add_up(&a.value, With(here, a.guards));
    }
  }
  return changed;
}

bool Equality::AddUp(NormalForm* form, const Facts& context) {
  bool changed = AddUpUnder(form, context);
  std::vector<Summand>& terms = form->terms;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size();) {
      const bool alike = terms[i].denominator == terms[j].denominator &&
                         terms[i].coefficient.AsConst() && terms[j].coefficient.AsConst() &&
                         Signature(terms[i].atoms) == Signature(terms[j].atoms);
      const auto pairing =
          alike && --budget_ > 0 ? Pair(terms[i], terms[j], context) : std::optional<Pairing>();
      if (!pairing || !pairing->only_mine.empty() || !pairing->only_image.empty()) {
        ++j;
        continue;
      }
      terms[i].coefficient = terms[i].coefficient + terms[j].coefficient;
      terms.erase(terms.begin() + j);
      changed = true;
    }
  }
  return changed;
}

bool Equality::CancelOnce(std::vector<Summand>* terms, const Facts& context) {
  std::vector<std::string> signatures;
  for (const Summand& term : *terms) signatures.push_back(Signature(term.atoms));
  auto sign = [](const Summand& t) {
    return t.coefficient.terms().empty() || t.coefficient.terms().back().second > 0 ? 1 : -1;
  };
  // First pairs of opposite sign without remainder; then any of opposite sign; then pairs of equal
  // sign without remainder.
  for (int pass = 0; pass < 3; ++pass) {
    for (size_t i = 0; i < terms->size(); ++i) {
      SpendWork(static_cast<int64_t>(terms->size() - i));
      for (size_t j = i + 1; j < terms->size(); ++j) {
        if (signatures[i] != signatures[j]) continue;
        const bool opposite = sign((*terms)[i]) != sign((*terms)[j]);
        if (opposite != (pass < 2)) continue;
        if (--budget_ <= 0) return false;
        auto pairing = Pair((*terms)[i], (*terms)[j], context);
        if (!pairing) continue;
        const bool exact = pairing->only_mine.empty() && pairing->only_image.empty();
        if (pass != 1 && !exact) continue;
        std::vector<Summand> rest, vanished;
        Combine((*terms)[i], *pairing, context, &rest, &vanished);
        if (log != nullptr && depth_ == 1) {
          std::vector<Summand> logged = rest;
          logged.insert(logged.end(), vanished.begin(), vanished.end());
          log->Paired((*terms)[i], (*terms)[j], pairing->other, pairing->map, logged);
          for (const Summand& term : vanished) log->Zero(term);
        }
        terms->erase(terms->begin() + j);
        terms->erase(terms->begin() + i);
        terms->insert(terms->end(), rest.begin(), rest.end());
        return true;
      }
    }
  }
  return false;
}

void Equality::Combine(const Summand& mine, const Pairing& pairing, const Facts& context,
                       std::vector<Summand>* out, std::vector<Summand>* vanished) {
  const Summand& image = pairing.image;
  // Where both summands are defined, the coefficients add up.
  Summand both = mine;
  both.guards = With(mine.guards, pairing.only_image);
  int64_t common = 0;
  if (__builtin_mul_overflow(mine.denominator, image.denominator, &common)) {
    both.coefficient = Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
  } else {
    const Poly a = mine.coefficient * image.denominator, b = image.coefficient * mine.denominator;
    both.coefficient = a + b;
    both.denominator = common;
    if (!both.coefficient.IsZero() &&
        arith_.Equal(With(context, both.guards), both.coefficient, 0, Effort::kFull)) {
      both.coefficient = 0;
    }
  }
  if (!both.coefficient.IsZero()) normalizer_.SimplifyTerm(both, context, out);
  // Where only one summand is defined.
  auto residual = [&](Summand term, const Facts& lacking) {
    for (const Fact& fact : lacking) {
      Summand part = term;
      part.guards.push_back(Negation(fact));
      const size_t before = out->size();
      normalizer_.SimplifyTerm(part, context, out);
      if (log != nullptr && out->size() == before &&
          !arith_.Contradicts(context, part.guards, Effort::kFull)) {
        vanished->push_back(std::move(part));
      }
      term.guards.push_back(fact);
    }
  };
  residual(mine, pairing.only_image);
  residual(image, pairing.only_mine);
}

std::string Equality::Signature(const Atom& atom) const {
  switch (atom.kind) {
    case Atom::Kind::kRead:
      return absl::StrCat("t", atom.tensor);
    case Atom::Kind::kConstant:
      return atom.name;
    case Atom::Kind::kFn:
      return absl::StrCat(atom.name, "/", atom.args.size());
    case Atom::Kind::kInverse:
      return "inverse";
    case Atom::Kind::kSizeInverse:
      return "size inverse";
    case Atom::Kind::kMax:
      return absl::StrCat("extreme ", atom.name);
    case Atom::Kind::kReduce:
      return absl::StrCat("reduce ", atom.name);
  }
  return "?";
}

std::string Equality::Signature(const std::vector<Atom>& atoms) const {
  SpendWork(static_cast<int64_t>(1 + 2 * atoms.size()));
  std::vector<std::string> parts;
  for (const Atom& atom : atoms) parts.push_back(Signature(atom));
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, "*");
}

bool Equality::ProductsEqual(const std::vector<Atom>& a, const std::vector<Atom>& b,
                             const Facts& context) {
  if (a.size() != b.size()) return false;
  std::vector<bool> used(b.size(), false);
  std::function<bool(size_t)> match = [&](size_t i) {
    if (i == a.size()) return true;
    for (size_t j = 0; j < b.size(); ++j) {
      if (used[j] || Signature(a[i]) != Signature(b[j]) || !AtomsEqual(a[i], b[j], context)) {
        continue;
      }
      used[j] = true;
      // Equality is an equivalence, so any partner will do.
      return match(i + 1);
    }
    return false;
  };
  return match(0);
}

bool Equality::AtomsEqual(const Atom& a, const Atom& b, const Facts& context) {
  if (a.kind != b.kind || a.name != b.name || a.tensor != b.tensor ||
      a.index.size() != b.index.size() || a.args.size() != b.args.size()) {
    return false;
  }
  if (--budget_ <= 0) return false;
  for (size_t d = 0; d < a.index.size(); ++d) {
    if (!arith_.Equal(context, a.index[d], b.index[d], Effort::kFull)) return false;
  }
  if (a.kind == Atom::Kind::kMax) {
    if (forms_.Key(a) == forms_.Key(b)) return true;
    for (const Alternative& alternative : a.alternatives) {
      if (!Covers(b, alternative, context, 0)) return false;
    }
    for (const Alternative& alternative : b.alternatives) {
      if (!Covers(a, alternative, context, 0)) return false;
    }
    return true;
  }
  if (a.kind == Atom::Kind::kReduce) return ReductionsEqual(a, b, context);
  auto equal = [&](size_t i, size_t j) {
    return forms_.Key(*a.args[i]) == forms_.Key(*b.args[j]) ||
           AreEqual(*a.args[i], *b.args[j], context);
  };
  bool in_order = true;
  for (size_t i = 0; i < a.args.size() && in_order; ++i) in_order = equal(i, i);
  if (in_order) return true;
  // min and max are excluded: they choose between 0 and -0 by the order of their arguments.
  const bool commutative = a.Is(ScalarFn::kAdd) || a.Is(ScalarFn::kMul) || a.Is(ScalarFn::kEqual) ||
                           a.Is(ScalarFn::kAnd) || a.Is(ScalarFn::kOr);
  return commutative && equal(0, 1) && equal(1, 0);
}

bool Equality::ReductionsEqual(const Atom& a, const Atom& b, const Facts& context) {
  if (forms_.Key(a) == forms_.Key(b)) return true;
  auto as_term = [](const Alternative& alternative) {
    Summand term;
    term.axes = alternative.axes;
    term.guards = alternative.guards;
    term.atoms = {FnAtom("value", {*alternative.value})};
    return term;
  };
  const Summand mine = as_term(a.alternatives[0]);
  const Summand other = forms_.Renamed(as_term(b.alternatives[0]));
  std::optional<Pairing> pairing;
  if (laws_ == Laws::kNone || laws_ == Laws::kExact) {  // the same order too
    if (mine.axes.size() != other.axes.size()) return false;
    LeafMap map;
    for (size_t i = 0; i < mine.axes.size(); ++i) map[other.axes[i]] = Poly::Of(mine.axes[i]);
    pairing = TryMap(mine, other, map, context, true);
  } else {
    pairing = Pair(mine, other, context);
  }
  return pairing && pairing->only_mine.empty() && pairing->only_image.empty();
}

bool Equality::Covers(const Atom& b, const Alternative& given, const Facts& context, int depth) {
  if (depth > 4 || --budget_ <= 0) return false;
  // The axes become constants: fresh ones, so that they are unique.
  Atom shell;
  shell.kind = Atom::Kind::kMax;
  shell.alternatives = {given};
  const Alternative a = depth == 0 ? forms_.Substitute(shell, {}).alternatives[0] : given;
  const Facts here = With(context, a.guards);
  if (!a.guards.empty() && arith_.Contradicts(context, a.guards)) return true;
  const Atom candidates = forms_.Substitute(b, {});
  for (const Alternative& other : candidates.alternatives) {
    std::vector<Equation> equations;
    std::vector<Leaf> unknowns = other.axes, bound;
    Equations(*a.value, *other.value, &equations, &unknowns, &bound, 0);
    LeafMap solution = Solve(std::move(equations), unknowns, here);
    // For axes that no read determines any point will do: tries the ends of their ranges.
    std::vector<LeafMap> maps = {LeafMap()};
    for (Leaf axis : other.axes) {
      std::vector<Poly> values;
      if (auto it = solution.find(axis); it != solution.end()) {
        values.push_back(it->second);
      } else {
        for (Leaf mine : a.axes) values.push_back(Poly::Of(mine));
        for (const Fact& fact : other.guards) {
          const int64_t c = fact.p.CoefficientOf({axis});
          const Poly rest = fact.p - Poly::Of(Monomial{axis}, c);
          if ((c != 1 && c != -1) || leaves_.Mentions(rest, axis)) continue;
          const Poly value = c > 0 ? -rest : rest;
          if (std::find(values.begin(), values.end(), value) == values.end()) {
            values.push_back(value);
          }
        }
      }
      std::vector<LeafMap> next;
      for (const LeafMap& map : maps) {
        for (const Poly& value : values) {
          if (next.size() >= 16) break;
          LeafMap extended = map;
          extended[axis] = value;
          next.push_back(std::move(extended));
        }
      }
      maps = std::move(next);
    }
    for (LeafMap& map : maps) {
      bool closed = true;
      for (int round = 0; round < 3; ++round) {
        for (auto& [axis, value] : map) value = leaves_.Substitute(value, map);
      }
      for (const auto& [axis, value] : map) {
        for (Leaf dep : leaves_.DepsOf(value)) {
          closed = closed && !Contains(unknowns, dep) && !Contains(bound, dep);
        }
      }
      if (!closed) continue;
      const Facts guards = forms_.Substitute(other.guards, map);
      Facts missing;
      for (const Fact& fact : guards) {
        if (!arith_.Implied(here, fact)) missing.push_back(fact);
      }
      const Facts both = With(here, missing);
      if (!missing.empty() && arith_.Contradicts(here, missing)) continue;
      if (!AreEqual(*a.value, forms_.Substitute(*other.value, map), both)) continue;
      // The part of `a` where a guard does not hold must be covered too.
      bool covered = true;
      Alternative rest = a;
      for (const Fact& fact : missing) {
        Alternative part = rest;
        part.guards.push_back(Negation(fact));
        covered = covered && Covers(b, part, context, depth + 1);
        if (!covered) break;
        rest.guards.push_back(fact);
      }
      if (covered) return true;
    }
  }
  return false;
}

}  // namespace lemma::prover
