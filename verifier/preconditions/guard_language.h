// The language of conditions from which preconditions are built. Internal to the verifier.
#ifndef LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_
#define LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma::prover {

// The integers of one instance of a rule: its integer symbols and the lengths of its lists. nullopt
// for an integer without a value.
using GuardValues = std::vector<std::optional<int64_t>>;

// One condition. x, y, u, v and w are positions in GuardValues, or kNone.
//   kCompare: `relation` compares x*y with scale*u*v + w + constant. If y or v is kNone, it counts
//     as 1; if w is kNone, it counts as 0. If u is kNone, so are v and w, and the right side is
//     `constant`.
//   kDivides: u is positive, and x is a multiple of u.
//   kSameList: the lists whose lengths are x and u are equal.
struct GuardAtom {
  static constexpr int kNone = -1;
  enum class Kind { kCompare, kDivides, kSameList };
  Kind kind = Kind::kCompare;
  int x = kNone, y = kNone;
  Relation relation = Relation::kEq;
  int u = kNone, v = kNone, w = kNone;
  int64_t scale = 1, constant = 0;
  // The condition's complexity, a number without a unit. Of two equivalent conditions, the less
  // complex one is taken.
  int complexity = 0;
};

// The conditions on one rule. The rule must outlive the object.
class GuardLanguage {
 public:
  explicit GuardLanguage(const Substitution& rule);

  // All conditions, simple ones first. If the rule has more than 14 integer symbols, conditions on
  // three or four symbols are left out.
  const std::vector<GuardAtom>& atoms() const { return atoms_; }
  // The integers of an instance with these values of symbols.
  GuardValues ValuesOf(const SymbolValues& symbols) const;
  // Whether the condition is true of an instance: `values` must be ValuesOf(symbols). False if a
  // value is missing.
  bool Holds(const GuardAtom& atom, const GuardValues& values, const SymbolValues& symbols) const;
  // The condition in the language of rules.
  Comparison ToComparison(const GuardAtom& atom) const;
  // Whether the atom bounds an integer symbol from above by a constant (x <= 3, x = 3), and the
  // symbol occurs in no attribute of the source.
  bool BoundsSize(const GuardAtom& atom) const;

 private:
  void AddSimple();
  void AddSumsAndProducts();

  Term TermOf(int variable) const;

  const Substitution& rule_;
  std::vector<int> variables_;  // symbols: first num_integers_ integers, then lists, each of which
                                // stands for its length
  size_t num_integers_ = 0;
  std::set<int> in_attributes_;  // symbols
  std::vector<GuardAtom> atoms_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_
