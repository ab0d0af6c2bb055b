// The conditions of a rule on a match, and texts that say why a condition does not hold.
#ifndef LEMMA_REWRITE_MATCHING_WHY_NOT_TEXT_H_
#define LEMMA_REWRITE_MATCHING_WHY_NOT_TEXT_H_

#include <string>

#include "rewrite/matching/match.h"
#include "rewrite/matching/match_index.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// The kind of condition that fails, in the order in which conditions are tried.
enum class Missing {
  kOperator,   // the node has another number of operands or outputs than the operator that
               // computes the source's first output
  kOperand,    // an operand comes from another operator, or is another value
  kReader,     // no operator reads the value as the rule's source requires
  kAttribute,  // an attribute has another value
  kRole,       // the value of a variable is not a weight, or not a constant, as its role requires
  kType,       // a variable has another element type
  kShape,      // a variable has other dimensions
  kConstant,   // a constant has other elements or another shape
  kGuard,      // the precondition does not hold
  kTangled,    // an operand of the match is computed from an output of the match
  kCoverage,   // no form of the proof covers the match (rewrite/rules/coverage.h)
  kTarget,     // the target cannot be built for the match
  kNothing,    // the rule applies
};
// "operator", …, "coverage", "target", "nothing".
const char* Name(Missing missing);

// A condition on a match of a rule.
struct RuleCondition {
  Missing kind = Missing::kOperand;
  int node = -1;   // number of a node of the source; -1: none
  int index = -1;  // of the operand, attribute, variable or comparison; for kConstant see below
  friend bool operator==(const RuleCondition& a, const RuleCondition& b) {
    return a.kind == b.kind && a.node == b.node && a.index == b.index;
  }
};
// RuleCondition::index of a kConstant condition: on the constant's elements, or on its shape.
constexpr int kElements = 0, kDims = 1;

// Says why `match`, which satisfies some conditions of the rule, does not satisfy `condition`. In
// `match`, a node that these conditions do not bind is -1, and so is the node of a variable that
// they do not bind. The text uses the rule's names and the graph's sizes and attributes.
// condition.kind must be one of kOperand to kGuard, here and in PlaceOf.
std::string ReasonText(const Substitution& rule, const MatchIndex& index, const Binding& match,
                       const RuleCondition& condition);
// The position of the node that the reason is about: for a guard, the match's anchor; for a missing
// reader, the node whose value is not read; for a variable, the node that computes its value;
// otherwise, the node bound to condition.node.
int PlaceOf(const Substitution& rule, const Binding& match, const RuleCondition& condition);

// Says that the node at `position` has another number of operands or outputs than `pattern`.
std::string CountsText(const PatternNode& pattern, const MatchIndex& index, int position);
// "n = 4, k = [1, 2]": the symbols that have values.
std::string SymbolsText(const Substitution& rule, const SymbolValues& symbols);

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_WHY_NOT_TEXT_H_
