// Draws small instances of a rule (values of its symbols) and records on which of them both sides
// agree. Internal to the verifier.
#ifndef LEMMA_VERIFIER_PRECONDITIONS_RULE_INSTANCES_H_
#define LEMMA_VERIFIER_PRECONDITIONS_RULE_INSTANCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewrite/rules/statement.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma::prover {

struct RuleInstance {
  int form = 0;         // number of the rule's form
  SymbolValues values;  // by symbol of the rule; absent: the symbol is a real
  bool agree = false;   // false: the outputs of the sides differ in the field and in double
  // For each tensor that the target computes, in order (results of operators, and values inside
  // their definitions): for each of its outermost reductions, whether the reduction has several
  // terms here; then whether the tensor is not a copy of a tensor that it reads. (Tensors of the
  // source are not listed: a rule that removes an operator without effect is useful.)
  std::vector<bool> effects;
};

// The instances drawn so far. `rule` and `options` must outlive the object.
class RuleInstances {
 public:
  RuleInstances(const Substitution& rule, const ProverOptions& options);

  // Draws up to about `count` further instances that also satisfy `where`. Skips instances that
  // were drawn before.
  void Draw(const std::vector<Comparison>& where, int count);

  const std::vector<RuleInstance>& all() const { return all_; }
  // The counterexample of the first instance on which the sides differed; nullopt if there is none.
  const std::optional<Refuted>& counterexample() const { return counterexample_; }
  // `instances`: positions in all(). Groups all instances by the number of their `effects`. True
  // if, in some group, the members listed in `instances` (at least one) together show every effect
  // that any member of the group shows.
  bool ShowAllEffects(const std::vector<int>& instances) const;

 private:
  void DrawFrom(const RuleForm& form, int count);
  int NumberOf(const RuleForm& form);

  const Substitution& rule_;
  const ProverOptions& options_;
  uint64_t draws_ = 0;
  std::map<std::string, int> forms_;
  std::map<size_t, std::vector<bool>> seen_;  // by size of `effects`: those seen so far
  std::set<std::string> known_;
  std::vector<RuleInstance> all_;
  std::optional<Refuted> counterexample_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PRECONDITIONS_RULE_INSTANCES_H_
