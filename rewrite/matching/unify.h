// Solves for a rule's symbols, given equations between terms and the sizes and attributes of a
// graph.
#ifndef LEMMA_REWRITE_MATCHING_UNIFY_H_
#define LEMMA_REWRITE_MATCHING_UNIFY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Collects equations term = value. A value may contain dimensions of the model, but no symbols of
// the rule. An equation with one unknown symbol gives the value of this symbol if the arithmetic
// can be inverted: n + 1 = 4 gives n = 3. Otherwise the equation waits until other equations give
// values of symbols. To backtrack, keep a copy of the object. The rule and the terms must outlive
// it.
class Unifier {
 public:
  explicit Unifier(const Substitution& rule)
      : rule_(&rule), values_(rule.symbols.size()), lengths_(rule.symbols.size()) {}

  // Adds an equation. False if it is found to fail with the values known so far; true if it holds
  // or waits.
  bool Equate(const Term& term, const ExprAttr& value);
  // Solves the waiting equations and the equalities of the rule's precondition until nothing
  // changes. True if every equation and the whole precondition then hold.
  bool Settle();

  const SymbolValues& values() const { return values_; }  // the values found so far

 private:
  enum class Outcome { kHolds, kFails, kOpen };
  Outcome Try(const Term& term, const ExprAttr& value);
  Outcome TryList(const Term& list, const ExprAttr& value);
  Outcome TryCall(const Term& call, const ExprAttr& value);
  Outcome Undo(const Term& call, int known, const ExprAttr& other, const ExprAttr& value);
  Outcome UndoSymbolic(TermFn fn, int known, const Term& unknown, const IndexExpr& a,
                       const IndexExpr& v);
  Outcome BindSymbol(const Term& symbol, const ExprAttr& value);
  // The number of elements that a splice of `term` stands for.
  std::optional<size_t> LengthOf(const Term& term) const;

  const Substitution* rule_;
  SymbolValues values_;
  std::vector<std::optional<int64_t>> lengths_;  // of list symbols whose elements are unknown
  std::vector<std::pair<const Term*, ExprAttr>> open_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_UNIFY_H_
