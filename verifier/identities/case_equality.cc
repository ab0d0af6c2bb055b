#include "verifier/identities/case_equality.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "verifier/identities/real_query.h"
#include "verifier/identities/unroll.h"
#include "verifier/normal_form/equality.h"

namespace lemma::prover {
namespace {

constexpr int kMostCases = 64, kMostIndices = 3, kMostGuards = 5;
constexpr int64_t kLargestUnit = 12;

// The least common multiple of the denominators of angles and exponents.
void CollectUnit(const NormalForm& form, int64_t* unit) {
  for (const Summand& t : form.terms) {
    for (const Atom& atom : t.atoms) {
      const bool counts =
          atom.Is(ScalarFn::kExp) || atom.Is(ScalarFn::kSin) || atom.Is(ScalarFn::kCos);
      for (const NormalFormPtr& arg : atom.args) {
        for (const Summand& s : arg->terms) {
          const int64_t common = s.denominator / std::gcd(*unit, s.denominator);
          if (counts && common > 1 && common <= kLargestUnit / *unit) *unit *= common;
        }
        CollectUnit(*arg, unit);
      }
      for (const Alternative& a : atom.alternatives) CollectUnit(*a.value, unit);
    }
  }
}

// A guard that depends on none of its summand's axes.
std::optional<Fact> OuterGuard(const Leaves& leaves, const NormalForm& form) {
  for (const Summand& t : form.terms) {
    for (const Fact& fact : t.guards) {
      const bool own = std::any_of(t.axes.begin(), t.axes.end(),
                                   [&](Leaf axis) { return leaves.Mentions(fact.p, axis); });
      if (!own) return fact;
    }
  }
  return std::nullopt;
}

}  // namespace

bool CaseEquality::AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context) {
  cases_ = 0;
  return ValueByValue(a, b, context, 0);
}

bool CaseEquality::ValueByValue(NormalForm a, NormalForm b, const Facts& context, int depth) {
  Leaves& leaves = forms_.leaves();
  Normalizer normalizer(&forms_, &arith_, laws_);
  bool unrolled = false;
  for (NormalForm* form : {&a, &b}) {
    *form = normalizer.Simplify(Unrolled(&forms_, laws_, *form, &unrolled), context);
  }
  std::vector<Leaf> used;
  forms_.CollectDeps(Sum(a, b), &used);
  auto is_small = [&](Leaf leaf) {
    return leaves.Info(leaf).kind == LeafInfo::Kind::kVar && SmallRange(context, leaf);
  };
  // The usual comparison has been tried.
  if (depth == 0 && !unrolled && laws_ != Laws::kRealOnly &&
      std::none_of(used.begin(), used.end(), is_small)) {
    return false;
  }
  for (Leaf leaf : used) {
    if (depth >= kMostIndices) break;
    if (!is_small(leaf)) continue;
    const auto range = SmallRange(context, leaf);
    for (int64_t v = range->low; v <= range->high; ++v) {
      if (++cases_ > kMostCases) return false;
      const LeafMap map = {{leaf, Poly(v)}};
      if (!ValueByValue(forms_.Substitute(a, map), forms_.Substitute(b, map),
                        forms_.Substitute(context, map), depth + 1)) {
        return false;
      }
    }
    return true;
  }
  return Compare(a, b, context);
}

bool CaseEquality::Compare(const NormalForm& a, const NormalForm& b, const Facts& context) {
  Equality equality(&forms_, &arith_, laws_);
  if (equality.AreEqual(a, b, context)) return true;
  remainder_ = equality.remainder();
  return laws_ == Laws::kRealOnly && ByIdentities(a, b, context);
}

bool CaseEquality::ByIdentities(const NormalForm& a, const NormalForm& b, const Facts& context) {
  NormalForm sides[] = {a, b};
  int64_t unit = 0;
  for (int64_t next = 1; next != unit;) {
    unit = next;
    Normalizer normalizer(&forms_, &arith_, laws_);
    normalizer.UseIdentities(unit);
    for (NormalForm& side : sides) {
      side = normalizer.Simplify(side, context);
      CollectUnit(side, &next);
    }
  }
  Equality equality(&forms_, &arith_, laws_);
  equality.normalizer().UseIdentities(unit);
  if (equality.AreEqual(sides[0], sides[1], context)) return true;
  remainder_ = equality.remainder();
  Normalizer* normalizer = &equality.normalizer();
  const std::set<std::string> mine = UnconditionalKeys(&forms_, normalizer, sides[0], context),
                              other = UnconditionalKeys(&forms_, normalizer, sides[1], context);
  std::set<std::string> defined;
  std::set_intersection(mine.begin(), mine.end(), other.begin(), other.end(),
                        std::inserter(defined, defined.end()));
  return ByQuery(equality.remaining(), context, defined, unit, 0);
}

bool CaseEquality::ByQuery(const NormalForm& difference, const Facts& context,
                           const std::set<std::string>& defined, int64_t unit, int depth) {
  Equality equality(&forms_, &arith_, laws_);
  equality.normalizer().UseIdentities(unit);
  const NormalForm form = equality.normalizer().Simplify(difference, context);
  if (form.terms.empty()) return true;
  if (const auto guard = OuterGuard(forms_.leaves(), form)) {
    if (depth >= kMostGuards) return false;
    for (const Fact& fact : {*guard, Negation(*guard)}) {
      if (arith_.Contradicts(context, {fact})) continue;
      if (!ByQuery(form, With(context, {fact}), defined, unit, depth + 1)) return false;
    }
    return true;
  }
  RealQuery query(&forms_, &arith_, &equality, context, defined, rlimit_);
  return query.IsZero(form);
}

}  // namespace lemma::prover
