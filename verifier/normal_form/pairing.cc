// Finds bijections between the axes of two summands: infers them from the reads, then checks them.
#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "verifier/normal_form/equality.h"

namespace lemma::prover {
namespace {

constexpr size_t kMaxAssignments = 24;

}  // namespace

std::vector<std::vector<int>> Equality::Assignments(const std::vector<Atom>& mine,
                                                    const std::vector<Atom>& others) {
  std::vector<std::vector<int>> result;
  std::vector<int> current;
  std::vector<bool> used(others.size(), false);
  std::function<void()> extend = [&] {
    if (result.size() >= kMaxAssignments) return;
    SpendWork(static_cast<int64_t>(1 + others.size()));
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
                         std::vector<Equation>* equations, std::vector<Leaf>* unknowns,
                         std::vector<Leaf>* bound, int depth) {
  // Only summands whose signature occurs once on each side.
  std::map<std::string, std::pair<std::vector<const Summand*>, std::vector<const Summand*>>>
      by_signature;
  for (const Summand& t : mine.terms) by_signature[Signature(t.atoms)].first.push_back(&t);
  for (const Summand& t : other.terms) by_signature[Signature(t.atoms)].second.push_back(&t);
  for (const auto& [signature, pair] : by_signature) {
    if (pair.first.size() != 1 || pair.second.size() != 1) continue;
    const Summand &a = *pair.first[0], &b = *pair.second[0];
    unknowns->insert(unknowns->end(), b.axes.begin(), b.axes.end());
    bound->insert(bound->end(), a.axes.begin(), a.axes.end());
    auto assignments = Assignments(a.atoms, b.atoms);
    if (assignments.empty()) continue;
    for (size_t i = 0; i < a.atoms.size(); ++i) {
      Equations(a.atoms[i], b.atoms[assignments[0][i]], equations, unknowns, bound, depth + 1);
    }
  }
}

void Equality::Equations(const Atom& mine, const Atom& other, std::vector<Equation>* equations,
                         std::vector<Leaf>* unknowns, std::vector<Leaf>* bound, int depth) {
  if (depth > 6 || mine.kind != other.kind) return;
  if (mine.kind == Atom::Kind::kRead && mine.index.size() == other.index.size()) {
    for (size_t d = 0; d < mine.index.size(); ++d) {
      equations->push_back({mine.index[d], other.index[d]});
    }
  }
  for (size_t i = 0; i < mine.args.size() && i < other.args.size(); ++i) {
    Equations(*mine.args[i], *other.args[i], equations, unknowns, bound, depth + 1);
  }
  if (mine.alternatives.size() == other.alternatives.size()) {
    for (size_t i = 0; i < mine.alternatives.size(); ++i) {
      const Alternative &a = mine.alternatives[i], &b = other.alternatives[i];
      unknowns->insert(unknowns->end(), b.axes.begin(), b.axes.end());
      bound->insert(bound->end(), a.axes.begin(), a.axes.end());
      Equations(*a.value, *b.value, equations, unknowns, bound, depth + 1);
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
    // Fewest unknowns first, so that a determined unknown is not expressed by an open one.
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
      // Drops factors of every summand that are not 0.
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

// Whether others = map(mine) can be solved for mine, using each equation once.
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

std::optional<Equality::Pairing> Equality::TryMap(const Summand& mine, const Summand& other,
                                                  const LeafMap& map, const Facts& context,
                                                  bool exact) {
  if (!Invertible(mine.axes, other.axes, map)) return std::nullopt;
  Pairing pairing;
  pairing.map = map;
  pairing.other = other;
  pairing.image = forms_.Substitute(other, map);
  pairing.image.axes = mine.axes;
  const Facts mine_facts = With(context, mine.guards);
  const Facts image_facts = With(context, pairing.image.guards);
  const Facts both = With(mine_facts, pairing.image.guards);
  auto compare_guards = [&] {
    for (const Fact& fact : pairing.image.guards) {
      if (!arith_.Implied(mine_facts, fact, Effort::kLinear)) pairing.only_image.push_back(fact);
    }
    for (const Fact& fact : mine.guards) {
      if (!arith_.Implied(image_facts, fact, Effort::kLinear)) pairing.only_mine.push_back(fact);
    }
    return pairing.only_image.empty() && pairing.only_mine.empty();
  };
  if (exact && !compare_guards()) return std::nullopt;
  if (!ProductsEqual(mine.atoms, pairing.image.atoms, both)) return std::nullopt;
  if (exact) return pairing;
  const bool same = compare_guards();
  // Without a common point nothing cancels.
  if (!same && arith_.Contradicts(context, With(mine.guards, pairing.image.guards))) {
    return std::nullopt;
  }
  return pairing;
}

std::optional<Equality::Pairing> Equality::Pair(const Summand& mine, const Summand& given,
                                                const Facts& context) {
  if (mine.axes.size() != given.axes.size()) return std::nullopt;
  if (mine.coefficient.overflowed() || given.coefficient.overflowed()) return std::nullopt;
  const Summand other = forms_.Renamed(given);
  const Facts all = With(context, mine.guards);
  std::optional<Pairing> best;
  std::set<std::string> tried;
  for (const std::vector<int>& assignment : Assignments(mine.atoms, other.atoms)) {
    std::vector<Equation> equations;
    std::vector<Leaf> unknowns = other.axes, bound;
    for (size_t i = 0; i < mine.atoms.size(); ++i) {
      Equations(mine.atoms[i], other.atoms[assignment[i]], &equations, &unknowns, &bound, 0);
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
    // Axes that no read determines: assigns each to one of mine, in any order.
    std::vector<Leaf> choice = mine.axes;
    std::sort(choice.begin(), choice.end());
    if (left.size() > 3) continue;
    std::function<bool(size_t, LeafMap)> assign = [&](size_t i, LeafMap so_far) {
      SpendWork(static_cast<int64_t>(4 + 4 * so_far.size()));
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
        // Bound axes of either side have no meaning here.
        for (Leaf dep : leaves_.DepsOf(poly)) {
          if (Contains(unknowns, dep) || Contains(bound, dep)) return false;
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

}  // namespace lemma::prover
