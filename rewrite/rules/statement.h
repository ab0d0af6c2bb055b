// What a rule claims, as statements about tensor expressions: what the prover proves, what a proof
// id names, and what an application must fall under.
#ifndef LEMMA_REWRITE_RULES_STATEMENT_H_
#define LEMMA_REWRITE_RULES_STATEMENT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// One claim: wherever `requirements` hold and every dimension of every input is at least 1, the
// outputs of `target` have the shapes and the elements that those of `source` have.
struct Statement {
  std::string name;
  Definition source, target;  // the same inputs in both
  // For each tensor of a side which of its operators made it: what an operator reads of its own it
  // has not stored.
  std::vector<int> source_operators, target_operators;
  std::vector<Guard> requirements;
  // By input: all its elements are finite, so that it does not matter to the float contract which
  // of them a side reads. Weights of rules are; none beyond its end is.
  std::vector<bool> finite;
};

// The statement's proof id: a hash of its composed definitions with all their types, which operator
// each is of, the order of their outputs, and the requirements. It changes if an operator's
// definition does. The version number in it has to change when the prover is found to have proved
// something false, so that no record outlives that.
std::string ProofId(const Statement& statement);

// A rule's symbols are left open where statements can be: sizes and most attributes. A list of
// unknown length (as in [b.., m, k]) and an attribute that an operator must know (an axis, a
// permutation) are tried value by value; each combination is a form with a statement of its own.
struct FormLimits {
  int max_rank = 2;     // dimensions tried for a list that is part of a variable's dimensions
  int max_forms = 160;  // of one rule
};

struct RuleForm {
  // The rule's symbols; open ones are IndexExpr::Symbol or ScalarExpr::Param of the symbol's name,
  // elements of an open list `b` are the symbols b[0], b[1], ...
  SymbolValues symbols;
  std::map<std::string, std::string> chosen;  // what is not left open: text for people
  Statement statement;
};

// Sets form->statement for the symbols' values; InvalidArgument if an application of either side is
// not well-formed for them, or if what is required is known to be false. Sizes that broadcast() in
// a term needs equal are required to be. `common` is the type of variables without one.
absl::Status MakeStatement(const Substitution& rule, RuleForm* form, DType common = DType::kF32);
// Gives the symbol, or the element of a list symbol, that has this name the value 1, and tells
// form->chosen so; false if there is none. The statement stays.
bool FixToOne(const std::string& name, RuleForm* form);
// Whether the symbol stands in an attribute that its operator needs to know.
bool MustBeKnown(const Substitution& rule, int symbol);
// The name of an element of an open list.
std::string ElementName(const std::string& list, size_t i);

struct RuleForms {
  std::vector<RuleForm> forms;  // those for which the source is well-formed
  bool truncated = false;       // there are more than max_forms
  std::string problem;          // why there are none, or none can be listed
};
// Deterministic.
RuleForms FormsOf(const Substitution& rule, const FormLimits& limits = {});

// Of the rule as a whole: of all its forms. "" if it has none.
std::string ProofId(const RuleForms& forms);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_STATEMENT_H_
