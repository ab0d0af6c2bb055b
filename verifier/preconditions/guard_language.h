// The conditions that preconditions are made of. Internal to the verifier.
#ifndef LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_
#define LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma::prover {

// The integers of one instance of a rule that conditions speak of: its integer symbols and the
// lengths of its lists.
using GuardValues = std::vector<std::optional<int64_t>>;

// One condition: x*y or x, related to  scale*u*v + w + constant  with any of u, v, w left out; or
// x a multiple of u; or two lists equal.
struct GuardAtom {
  static constexpr int kNone = -1;
  enum class Kind { kCompare, kDivides, kSameList };
  Kind kind = Kind::kCompare;
  int x = kNone, y = kNone;
  Relation relation = Relation::kEq;
  int u = kNone, v = kNone, w = kNone;
  int64_t scale = 1, constant = 0;
  // How much there is to it; of two conditions that say the same, the smaller one is taken.
  int size = 0;
};

class GuardLanguage {
 public:
  explicit GuardLanguage(const Substitution& rule);

  // All conditions, simple ones first. With more than a few symbols, those of four are left out.
  const std::vector<GuardAtom>& atoms() const { return atoms_; }
  GuardValues ValuesOf(const SymbolValues& symbols) const;
  // False where a value is missing.
  bool Holds(const GuardAtom& atom, const GuardValues& values, const SymbolValues& symbols) const;
  Comparison ToComparison(const GuardAtom& atom) const;
  // Whether it bounds, by a constant, a symbol that is only a size of variables, in no attribute.
  bool BoundsSize(const GuardAtom& atom) const;

 private:
  void AddSimple();
  void AddSumsAndProducts();

  Term TermOf(int variable) const;

  const Substitution& rule_;
  std::vector<int> variables_;  // symbols; the rest are lists, of which the length is meant
  size_t num_integers_ = 0;
  std::set<int> in_attributes_;  // symbols
  std::vector<GuardAtom> atoms_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PRECONDITIONS_GUARD_LANGUAGE_H_
