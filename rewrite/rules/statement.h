// Expresses the claim of a rule as statements about tensor expressions. The prover proves
// statements, a proof id is a hash of statements, and a match is covered if it is an instance of a
// proved statement. Statements are made in statement.cc, forms in forms.cc.
#ifndef LEMMA_REWRITE_RULES_STATEMENT_H_
#define LEMMA_REWRITE_RULES_STATEMENT_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// One claim: wherever `requirements` hold and every dimension of every input is at least 1, the
// outputs of `target` have the same shapes and elements as the outputs of `source`.
struct Statement {
  std::string name;
  Definition source, target;  // the same inputs in both
  // By tensor of a side: the number of the operator that computes it. A read between two tensors of
  // one operator is not rounded.
  std::vector<int> source_operators, target_operators;
  std::vector<Guard> requirements;
  // By input: whether all its elements are finite, as the elements of a rule's weights are. The
  // float contract then ignores which of these elements a side reads. Reads beyond the input's end
  // never count as finite.
  std::vector<bool> finite;
  // Whether every element type is fixed. Otherwise some element types are the rule's common type,
  // and the statement uses one example of the common type.
  bool typed = true;
  // Bounds of parameters by name, from the precondition's comparisons with numbers; they may be
  // infinite. A parameter without a bound is not listed.
  std::map<std::string, std::pair<double, double>> bounds;
  // If set, the claim is weaker: as real numbers, elements of the outputs differ by at most this
  // number, which depends on sizes and parameters.
  std::optional<ScalarExpr> within;
};

// Whether a tensor of either side holds integers.
bool UsesIntegers(const Statement& statement);
// Whether a tensor of either side holds small floats. Nothing is proved about small floats
// (docs/architecture.md).
bool UsesSmallFloats(const Statement& statement);

// The statement's proof id: a hash of, among others, its composed definitions, requirements and
// bounds, but not of its name. It changes if an operator's definition changes. When the prover is
// found to have proved something false, raise the version number in the hash: then no older record
// stays valid.
std::string ProofId(const Statement& statement);

// Limits on the forms in which a rule is stated and proved. A form leaves sizes and most attributes
// open. A list of unknown length (as in [b.., m, k]) and an attribute that an operator must know
// (an axis, a permutation) are tried value by value. Each combination is a form with its own
// statement.
struct FormLimits {
  int max_rank = 2;     // most dimensions tried for a list that is part of a variable's dimensions
  int max_forms = 160;  // most forms of one rule
};

// One form of a rule, with its statement.
struct RuleForm {
  // Values of the rule's symbols. The value of an open symbol is the IndexExpr::Symbol or
  // ScalarExpr::Param with its name. Elements of an open list `b` are the symbols b[0], b[1], ...
  SymbolValues symbols;
  // For people, by symbol: the value of a symbol that is not open; the length of an open list, as
  // "2 elements". By element of an open list: "1" if it was fixed to 1 (FixToOne).
  std::map<std::string, std::string> chosen;
  Statement statement;
};

// Sets form->statement for the symbols' values. InvalidArgument if a term has no value, if an
// operator of either side is not well-formed for these values, or if a requirement is known to be
// false. If a term is a call of broadcast() that needs two sizes to be equal, their equality
// becomes a requirement. `common`: the element type of variables and constants that have none in
// the rule.
absl::Status MakeStatement(const Substitution& rule, RuleForm* form, DType common = DType::kF32);
// Sets the open symbol, or element of an open list, with this name to 1 and records the 1 in
// form->chosen. Returns false if there is none. Does not update form->statement.
bool FixToOne(const std::string& name, RuleForm* form);
// Whether the symbol occurs, other than in len(), in an attribute that its operator must know.
bool MustBeKnown(const Substitution& rule, int symbol);
// The name of an element of an open list.
std::string ElementName(const std::string& list, size_t i);

struct RuleForms {
  std::vector<RuleForm> forms;  // the forms for which both sides are well-formed
  bool truncated = false;       // there are more than max_forms
  std::string problem;          // why there is no form or why forms cannot be listed; otherwise ""
};
// The forms of the rule within `limits`. Deterministic.
RuleForms FormsOf(const Substitution& rule, const FormLimits& limits = {});

// The proof id of the whole rule, over all its forms. "" if there is no form.
std::string ProofId(const RuleForms& forms);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_STATEMENT_H_
