#include "verifier/equality.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma::verify {
namespace {

constexpr int kMaxRounds = 300;
constexpr size_t kMaxAssignments = 24;

bool Contains(const std::vector<Leaf>& leaves, Leaf leaf) {
  return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
}

}  // namespace

bool Equality::AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context) {
  return IsZero(Sum(a, Scaled(b, -1)), context);
}

bool Equality::IsZero(const NormalForm& difference, const Facts& context) {
  if (depth_ > 8 || budget_ <= 0) return false;
  NormalForm form = normalizer_.Simplify(difference, context);
  StepLog* outermost = depth_ == 0 ? log : nullptr;
  if (outermost != nullptr) outermost->Difference(form.terms);
  ++depth_;
  bool zero = true;
  for (int round = 0; round < kMaxRounds && !form.terms.empty(); ++round) {
    if (!CancelOnce(&form.terms, context)) break;
    form = normalizer_.Combine(std::move(form));
    if (outermost != nullptr) outermost->Are(form.terms);
  }
  --depth_;
  NormalForm left;
  for (Term& term : form.terms) {
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
  if (!zero && depth_ == 0) remainder_ = forms_.Key(left);
  return zero;
}

bool Equality::CancelOnce(std::vector<Term>* terms, const Facts& context) {
  std::vector<std::string> signatures;
  for (const Term& term : *terms) signatures.push_back(Signature(term.atoms));
  auto sign = [](const Term& t) {
    return t.coefficient.terms().empty() || t.coefficient.terms().back().second > 0 ? 1 : -1;
  };
  // Pairs of opposite sign that leave nothing; then any of opposite sign; then of equal sign.
  for (int pass = 0; pass < 3; ++pass) {
    for (size_t i = 0; i < terms->size(); ++i) {
      for (size_t j = i + 1; j < terms->size(); ++j) {
        if (signatures[i] != signatures[j]) continue;
        const bool opposite = sign((*terms)[i]) != sign((*terms)[j]);
        if (opposite != (pass < 2)) continue;
        if (--budget_ <= 0) return false;
        auto pairing = Pair((*terms)[i], (*terms)[j], context);
        if (!pairing) continue;
        const bool exact = pairing->only_mine.empty() && pairing->only_image.empty();
        if (pass != 1 && !exact) continue;
        std::vector<Term> rest;
        Combine((*terms)[i], *pairing, context, &rest);
        if (log != nullptr && depth_ == 1) {
          log->Paired((*terms)[i], (*terms)[j], pairing->other, pairing->map, rest);
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

void Equality::Combine(const Term& mine, const Pairing& pairing, const Facts& context,
                       std::vector<Term>* out) {
  const Term& image = pairing.image;
  // Where both are: the coefficients add up.
  Term both = mine;
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
  // Where only one is.
  auto residual = [&](Term term, const Facts& lacking) {
    for (const Fact& fact : lacking) {
      Term part = term;
      part.guards.push_back(Negation(fact));
      normalizer_.SimplifyTerm(std::move(part), context, out);
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
  std::vector<std::string> parts;
  for (const Atom& atom : atoms) parts.push_back(Signature(atom));
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, "*");
}

std::vector<std::vector<int>> Equality::Assignments(const std::vector<Atom>& mine,
                                                    const std::vector<Atom>& others) {
  std::vector<std::vector<int>> result;
  std::vector<int> current;
  std::vector<bool> used(others.size(), false);
  std::function<void()> extend = [&] {
    if (result.size() >= kMaxAssignments) return;
    if (current.size() == mine.size()) {
      result.push_back(current);
      return;
    }
    const std::string wanted = Signature(mine[current.size()]);
    for (size_t j = 0; j < others.size(); ++j) {
      if (used[j] || Signature(others[j]) != wanted) continue;
      used[j] = true;
      current.push_back(static_cast<int>(j));
      extend();
      current.pop_back();
      used[j] = false;
    }
  };
  if (mine.size() == others.size()) extend();
  return result;
}

void Equality::Equations(const NormalForm& mine, const NormalForm& other,
                         std::vector<Equation>* equations, std::vector<Leaf>* unknowns, int depth) {
  // Terms that only one on either side resembles.
  std::map<std::string, std::pair<std::vector<const Term*>, std::vector<const Term*>>> by_signature;
  for (const Term& t : mine.terms) by_signature[Signature(t.atoms)].first.push_back(&t);
  for (const Term& t : other.terms) by_signature[Signature(t.atoms)].second.push_back(&t);
  for (const auto& [signature, pair] : by_signature) {
    if (pair.first.size() != 1 || pair.second.size() != 1) continue;
    const Term &a = *pair.first[0], &b = *pair.second[0];
    unknowns->insert(unknowns->end(), b.axes.begin(), b.axes.end());
    auto assignments = Assignments(a.atoms, b.atoms);
    if (assignments.empty()) continue;
    for (size_t i = 0; i < a.atoms.size(); ++i) {
      Equations(a.atoms[i], b.atoms[assignments[0][i]], equations, unknowns, depth + 1);
    }
  }
}

void Equality::Equations(const Atom& mine, const Atom& other, std::vector<Equation>* equations,
                         std::vector<Leaf>* unknowns, int depth) {
  if (depth > 6 || mine.kind != other.kind) return;
  if (mine.kind == Atom::Kind::kRead && mine.index.size() == other.index.size()) {
    for (size_t d = 0; d < mine.index.size(); ++d) {
      equations->push_back({mine.index[d], other.index[d]});
    }
  }
  for (size_t i = 0; i < mine.args.size() && i < other.args.size(); ++i) {
    Equations(*mine.args[i], *other.args[i], equations, unknowns, depth + 1);
  }
  if (mine.alternatives.size() == other.alternatives.size()) {
    for (size_t i = 0; i < mine.alternatives.size(); ++i) {
      const Alternative &a = mine.alternatives[i], &b = other.alternatives[i];
      unknowns->insert(unknowns->end(), b.axes.begin(), b.axes.end());
      Equations(*a.value, *b.value, equations, unknowns, depth + 1);
    }
  }
}

LeafMap Equality::Solve(std::vector<Equation> equations, const std::vector<Leaf>& unknowns,
                        const Facts& context) {
  LeafMap solution;
  std::set<Leaf> open(unknowns.begin(), unknowns.end());
  std::vector<Poly> zeros;
  for (const Equation& e : equations) zeros.push_back(e.mine - e.other);
  for (bool more = true; more;) {
    more = false;
    // The fewest unknowns first: what is determined alone is not expressed by something open.
    std::vector<std::pair<int, size_t>> order;
    for (size_t i = 0; i < zeros.size(); ++i) {
      int count = 0;
      for (Leaf u : open) count += leaves_.Mentions(zeros[i], u);
      if (count > 0) order.emplace_back(count, i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [count, i] : order) {
      Poly p = zeros[i];
      if (p.overflowed() || p.IsZero()) continue;
      // A factor of every term, if it is not 0, is left out.
      for (Leaf factor : CommonMonomial(p)) {
        if (open.count(factor) > 0 || !arith_.Positive(context, Poly::Of(factor))) continue;
        p = *ExactQuotient(p, Poly::Of(factor));
      }
      if (!p.IsZero()) p = *ExactQuotient(p, ContentOf(p));
      for (Leaf u : open) {
        const int64_t c = p.CoefficientOf({u});
        if (c != 1 && c != -1) continue;
        const Poly rest = p - Poly::Of(Monomial{u}, c);
        if (leaves_.Mentions(rest, u)) continue;
        const Poly value = c > 0 ? -rest : rest;
        for (auto& [leaf, poly] : solution) poly = leaves_.Substitute(poly, {{u, value}});
        for (Poly& zero : zeros) zero = leaves_.Substitute(zero, {{u, value}});
        solution[u] = value;
        open.erase(u);
        more = true;
        break;
      }
      if (more) break;
    }
  }
  return solution;
}

// others = map(mine) can be solved for mine, using each equation once.
bool Equality::Invertible(const std::vector<Leaf>& mine, const std::vector<Leaf>& others,
                          const LeafMap& map) {
  if (mine.size() != others.size()) return false;
  std::vector<Poly> zeros;
  for (Leaf u : others) {
    auto it = map.find(u);
    if (it == map.end()) return false;
    zeros.push_back(Poly::Of(u) - it->second);
  }
  std::set<Leaf> open(mine.begin(), mine.end());
  for (bool more = true; more && !open.empty();) {
    more = false;
    for (size_t i = 0; i < zeros.size() && !more; ++i) {
      for (Leaf v : open) {
        const int64_t c = zeros[i].CoefficientOf({v});
        if (c != 1 && c != -1) continue;
        const Poly rest = zeros[i] - Poly::Of(Monomial{v}, c);
        if (leaves_.Mentions(rest, v)) continue;
        const Poly value = c > 0 ? -rest : rest;
        zeros.erase(zeros.begin() + i);
        for (Poly& zero : zeros) zero = leaves_.Substitute(zero, {{v, value}});
        open.erase(v);
        more = true;
        break;
      }
    }
  }
  return open.empty() && zeros.empty();
}

std::optional<Equality::Pairing> Equality::TryMap(const Term& mine, const Term& other,
                                                  const LeafMap& map, const Facts& context) {
  if (!Invertible(mine.axes, other.axes, map)) return std::nullopt;
  Pairing pairing;
  pairing.map = map;
  pairing.other = other;
  pairing.image = forms_.Substitute(other, map);
  pairing.image.axes = mine.axes;
  const Facts mine_facts = With(context, mine.guards);
  const Facts image_facts = With(context, pairing.image.guards);
  const Facts both = With(mine_facts, pairing.image.guards);
  if (!ProductsEqual(mine.atoms, pairing.image.atoms, both)) return std::nullopt;
  for (const Fact& fact : pairing.image.guards) {
    if (!arith_.Implied(mine_facts, fact, Effort::kLinear)) pairing.only_image.push_back(fact);
  }
  for (const Fact& fact : mine.guards) {
    if (!arith_.Implied(image_facts, fact, Effort::kLinear)) pairing.only_mine.push_back(fact);
  }
  const bool exact = pairing.only_image.empty() && pairing.only_mine.empty();
  // Without a common point nothing would cancel.
  if (!exact && arith_.Contradicts(context, With(mine.guards, pairing.image.guards))) {
    return std::nullopt;
  }
  return pairing;
}

std::optional<Equality::Pairing> Equality::Pair(const Term& mine, const Term& given,
                                                const Facts& context) {
  if (mine.axes.size() != given.axes.size()) return std::nullopt;
  if (mine.coefficient.overflowed() || given.coefficient.overflowed()) return std::nullopt;
  const Term other = forms_.Renamed(given);
  const Facts all = With(context, mine.guards);
  std::optional<Pairing> best;
  std::set<std::string> tried;
  for (const std::vector<int>& assignment : Assignments(mine.atoms, other.atoms)) {
    std::vector<Equation> equations;
    std::vector<Leaf> unknowns = other.axes;
    for (size_t i = 0; i < mine.atoms.size(); ++i) {
      Equations(mine.atoms[i], other.atoms[assignment[i]], &equations, &unknowns, 0);
    }
    LeafMap solution = Solve(std::move(equations), unknowns, all);
    LeafMap map;
    std::vector<Leaf> left;
    for (Leaf axis : other.axes) {
      auto it = solution.find(axis);
      if (it == solution.end()) {
        left.push_back(axis);
      } else {
        map[axis] = it->second;
      }
    }
    // Axes that no read determines: one of mine each, in any order.
    std::vector<Leaf> choice = mine.axes;
    std::sort(choice.begin(), choice.end());
    if (left.size() > 3) continue;
    std::function<bool(size_t, LeafMap)> assign = [&](size_t i, LeafMap so_far) {
      if (i < left.size()) {
        for (Leaf axis : choice) {
          LeafMap next = so_far;
          for (auto& [leaf, poly] : next) {
            poly = leaves_.Substitute(poly, {{left[i], Poly::Of(axis)}});
          }
          next[left[i]] = Poly::Of(axis);
          if (assign(i + 1, std::move(next))) return true;
        }
        return false;
      }
      std::string text;
      for (const auto& [leaf, poly] : so_far) {
        absl::StrAppend(&text, leaf, "=", leaves_.ToString(poly), ";");
        // Axes bound inside, of either side, mean nothing here.
        for (Leaf dep : leaves_.DepsOf(poly)) {
          if (Contains(unknowns, dep)) return false;
        }
      }
      if (!tried.insert(text).second) return false;
      auto pairing = TryMap(mine, other, so_far, context);
      if (!pairing) return false;
      const size_t residuals = pairing->only_mine.size() + pairing->only_image.size();
      if (!best || residuals < best->only_mine.size() + best->only_image.size()) {
        best = std::move(pairing);
      }
      return residuals == 0;
    };
    if (assign(0, map)) break;
  }
  return best;
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
  // Not min and max, which choose between 0 and -0 by the order of their arguments.
  const bool commutative = a.Is(ScalarFn::kAdd) || a.Is(ScalarFn::kMul) || a.Is(ScalarFn::kEqual) ||
                           a.Is(ScalarFn::kAnd) || a.Is(ScalarFn::kOr);
  return commutative && equal(0, 1) && equal(1, 0);
}

bool Equality::ReductionsEqual(const Atom& a, const Atom& b, const Facts& context) {
  if (forms_.Key(a) == forms_.Key(b)) return true;
  auto as_term = [](const Alternative& alternative) {
    Term term;
    term.axes = alternative.axes;
    term.guards = alternative.guards;
    term.atoms = {FnAtom("value", {*alternative.value})};
    return term;
  };
  const Term mine = as_term(a.alternatives[0]);
  const Term other = forms_.Renamed(as_term(b.alternatives[0]));
  std::optional<Pairing> pairing;
  if (laws_ == Laws::kNone) {  // the same order too
    if (mine.axes.size() != other.axes.size()) return false;
    LeafMap map;
    for (size_t i = 0; i < mine.axes.size(); ++i) map[other.axes[i]] = Poly::Of(mine.axes[i]);
    pairing = TryMap(mine, other, map, context);
  } else {
    pairing = Pair(mine, other, context);
  }
  return pairing && pairing->only_mine.empty() && pairing->only_image.empty();
}

bool Equality::Covers(const Atom& b, const Alternative& given, const Facts& context, int depth) {
  if (depth > 4 || --budget_ <= 0) return false;
  // Its axes are constants from here on: fresh ones, so that they are nobody else's.
  Atom shell;
  shell.kind = Atom::Kind::kMax;
  shell.alternatives = {given};
  const Alternative a = depth == 0 ? forms_.Substitute(shell, {}).alternatives[0] : given;
  const Facts here = With(context, a.guards);
  if (!a.guards.empty() && arith_.Contradicts(context, a.guards)) return true;
  const Atom candidates = forms_.Substitute(b, {});
  for (const Alternative& other : candidates.alternatives) {
    std::vector<Equation> equations;
    std::vector<Leaf> unknowns = other.axes;
    Equations(*a.value, *other.value, &equations, &unknowns, 0);
    LeafMap solution = Solve(std::move(equations), unknowns, here);
    // Axes that no read determines: any point will do, so try the ends of their ranges.
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
        for (Leaf dep : leaves_.DepsOf(value)) closed = closed && !Contains(unknowns, dep);
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
      // What is left of a where a guard does not hold has to be covered too.
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

}  // namespace lemma::verify
