// Solving for a rule's symbols: terms on one side, the constants of a graph on the other.
#ifndef LEMMA_REWRITE_MATCHING_UNIFY_H_
#define LEMMA_REWRITE_MATCHING_UNIFY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Collects equations term = constant. An equation that determines its last unknown symbol by
// arithmetic that can be undone gives it its value; one that does not is kept until others did.
// Copyable: a copy is where backtracking returns to. Terms are referred to and must live on.
class Unifier {
 public:
  explicit Unifier(const Substitution& rule)
      : rule_(&rule), values_(rule.symbols.size()), lengths_(rule.symbols.size()) {}

  // False if the equation contradicts what is known.
  bool Equate(const Term& term, const ExprAttr& value);
  // Uses what was kept and the equalities among the rule's preconditions until nothing changes.
  // True if every equation then holds, as does the whole precondition.
  bool Settle();

  const SymbolValues& values() const { return values_; }

 private:
  enum class Outcome { kHolds, kFails, kOpen };
  Outcome Try(const Term& term, const ExprAttr& value);
  Outcome TryList(const Term& list, const ExprAttr& value);
  Outcome TryCall(const Term& call, const ExprAttr& value);
  Outcome Undo(const Term& call, int known, const ExprAttr& other, const ExprAttr& value);
  Outcome BindSymbol(const Term& symbol, const ExprAttr& value);
  // Elements that a splice of `term` stands for.
  std::optional<size_t> LengthOf(const Term& term) const;

  const Substitution* rule_;
  SymbolValues values_;
  std::vector<std::optional<int64_t>> lengths_;  // of list symbols whose elements are unknown
  std::vector<std::pair<const Term*, ExprAttr>> open_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_UNIFY_H_
