// Steps of the normalizer that eliminate, split and merge reduction axes.
#include <algorithm>
#include <set>

#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

// Writes p as c*leaf + rest, where c is 1 or -1 and rest does not contain leaf.
std::optional<std::pair<int, Poly>> UnitIn(const Leaves& leaves, const Poly& p, Leaf leaf) {
  const int64_t c = p.CoefficientOf({leaf});
  if (c != 1 && c != -1) return std::nullopt;
  Poly rest = p - Poly::Of(Monomial{leaf}, c);
  if (leaves.Mentions(rest, leaf)) return std::nullopt;
  return std::make_pair(static_cast<int>(c), rest);
}

}  // namespace

// sum over v with v = e of f(v) = f(e).
Normalizer::Change Normalizer::OnePoint(Summand* term) {
  for (size_t i = 0; i < term->guards.size(); ++i) {
    if (term->guards[i].kind != Fact::Kind::kEq) continue;
    for (size_t a = 0; a < term->axes.size(); ++a) {
      const Leaf axis = term->axes[a];
      auto unit = UnitIn(leaves_, term->guards[i].p, axis);
      if (!unit) continue;
      const Poly value = unit->first > 0 ? -unit->second : unit->second;
      term->axes.erase(term->axes.begin() + a);
      term->guards.erase(term->guards.begin() + i);
      *term = forms_.Substitute(*term, {{axis, value}});
      return Change::kChanged;
    }
  }
  return Change::kNothing;
}

// Replaces k by b*q + r where k div b is used.
Normalizer::Change Normalizer::SplitAxis(Summand* term, const Facts& context) {
  std::set<Leaf> divs;
  auto collect = [&](const Poly& p) {
    for (const auto& [m, c] : p.terms()) {
      for (Leaf leaf : m) {
        if (leaves_.Info(leaf).kind == LeafInfo::Kind::kDiv) divs.insert(leaf);
      }
    }
  };
  collect(term->coefficient);
  for (const Fact& fact : term->guards) collect(fact.p);
  for (const Atom& atom : term->atoms) {
    for (const Poly& p : atom.index) collect(p);
  }
  const Facts all = With(context, term->guards);
  for (Leaf leaf : divs) {
    const LeafInfo info = leaves_.Info(leaf);
    bool free_divisor = true;
    for (Leaf axis : term->axes) free_divisor = free_divisor && !leaves_.Mentions(info.b, axis);
    if (!free_divisor) continue;
    for (Leaf axis : term->axes) {
      auto unit = UnitIn(leaves_, info.a, axis);
      if (!unit || !ExactQuotient(unit->second, info.b)) continue;
      if (!arith_.Positive(context, info.b) ||
          !arith_.NonNegative(all, Poly::Of(axis), Effort::kLinear)) {
        continue;
      }
      const Leaf q = leaves_.NewVar("q"), r = leaves_.NewVar("r");
      std::replace(term->axes.begin(), term->axes.end(), axis, q);
      term->axes.push_back(r);
      *term = forms_.Substitute(*term, {{axis, info.b * Poly::Of(q) + Poly::Of(r)}});
      term->guards.push_back(Fact::Ge(Poly::Of(r)));
      term->guards.push_back(Fact::Ge(info.b - 1 - Poly::Of(r)));
      term->guards.push_back(Fact::Ge(Poly::Of(q)));
      return Change::kChanged;
    }
  }
  return Change::kNothing;
}

// sum(0 <= k < K) f = K*f for f free of k.
Normalizer::Change Normalizer::UnusedAxis(Summand* term, const Facts& context) {
  for (size_t a = 0; a < term->axes.size(); ++a) {
    const Leaf axis = term->axes[a];
    if (leaves_.Mentions(term->coefficient, axis)) continue;
    bool used = false;
    for (const Atom& atom : term->atoms) used = used || forms_.Mentions(atom, axis);
    if (used) continue;
    std::optional<Poly> low, high;
    int bounds = 0;
    Facts rest;
    for (const Fact& fact : term->guards) {
      if (!leaves_.Mentions(fact.p, axis)) {
        rest.push_back(fact);
        continue;
      }
      ++bounds;
      auto unit = UnitIn(leaves_, fact.p, axis);
      if (!unit || fact.kind != Fact::Kind::kGe) continue;
      if (unit->first > 0) low = -unit->second;
      if (unit->first < 0) high = unit->second;
    }
    if (bounds != 2 || !low || !high) continue;
    const Poly count = *high - *low + 1;
    if (!arith_.NonNegative(With(context, rest), count)) continue;
    term->axes.erase(term->axes.begin() + a);
    term->guards = std::move(rest);
    term->coefficient = term->coefficient * count;
    return Change::kChanged;
  }
  return Change::kNothing;
}

// Merges two axes q and r that are used only as b*q + r, where r is a digit of b.
Normalizer::Change Normalizer::MergeAxes(Summand* term, const Facts& context) {
  auto range = [&](const Summand& t, Leaf axis) -> std::optional<Poly> {  // extent of 0 <= axis
    bool low = false;
    std::optional<Poly> extent;
    for (const Fact& fact : t.guards) {
      auto unit = UnitIn(leaves_, fact.p, axis);
      if (!unit || fact.kind != Fact::Kind::kGe) continue;
      if (unit->first > 0 && unit->second.IsZero()) low = true;
      if (unit->first < 0 && !extent) extent = unit->second + 1;
    }
    return low ? extent : std::nullopt;
  };
  auto of_axes = [&](const Poly& p) {
    return std::any_of(term->axes.begin(), term->axes.end(),
                       [&](Leaf axis) { return leaves_.Mentions(p, axis); });
  };
  for (Leaf r : term->axes) {
    auto b = range(*term, r);
    if (!b || of_axes(*b)) continue;
    for (Leaf q : term->axes) {
      if (q == r) continue;
      auto extent = range(*term, q);
      if (!extent || of_axes(*extent)) continue;
      const Leaf k = leaves_.NewVar("k");
      Summand rest = *term;
      rest.guards.clear();
      for (const Fact& fact : term->guards) {
        const bool bound = fact.p == Poly::Of(q) || fact.p == Poly::Of(r) ||
                           fact.p == *extent - 1 - Poly::Of(q) || fact.p == *b - 1 - Poly::Of(r);
        if (!bound || fact.kind != Fact::Kind::kGe) rest.guards.push_back(fact);
      }
      rest = forms_.Substitute(rest, {{r, Poly::Of(k) - *b * Poly::Of(q)}});
      rest.axes.clear();
      if (forms_.Mentions(NormalForm{{rest}}, q)) continue;
      if (!arith_.Positive(context, *b)) continue;
      for (Leaf axis : term->axes) {
        if (axis != q && axis != r) rest.axes.push_back(axis);
      }
      rest.axes.push_back(k);
      rest.guards.push_back(Fact::Ge(Poly::Of(k)));
      rest.guards.push_back(Fact::Ge(*b * *extent - 1 - Poly::Of(k)));
      *term = std::move(rest);
      return Change::kChanged;
    }
  }
  return Change::kNothing;
}

}  // namespace lemma::prover
