// Small instances of a rule, on which its sides agree or differ. Internal to the verifier.
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
  int form = 0;         // of the rule, by number
  SymbolValues values;  // of the rule's symbols; absent: a real
  bool agree = false;
  // Of each of the target's operators, what it does here: whether a reduction has several terms,
  // whether the result is other than an operand. (An operator of the source alone may do nothing:
  // that it can then be left out is worth saying.)
  std::vector<bool> does;
};

class RuleInstances {
 public:
  RuleInstances(const Substitution& rule, const ProverOptions& options);

  // Draws up to `count` further instances for which `where` holds too. Those that are there
  // already are not added again.
  void Draw(const std::vector<Comparison>& where, int count);

  const std::vector<RuleInstance>& all() const { return all_; }
  // Of the first instance on which the sides were seen to differ.
  const std::optional<Refuted>& counterexample() const { return counterexample_; }
  // Whether these instances, by number, show each operator do all that it was seen to do in any
  // instance of forms that have as many operators.
  bool ShowEverything(const std::vector<int>& instances) const;

 private:
  void DrawFrom(const RuleForm& form, int count);
  int NumberOf(const RuleForm& form);

  const Substitution& rule_;
  const ProverOptions& options_;
  uint64_t draws_ = 0;
  std::map<std::string, int> forms_;
  std::map<size_t, std::vector<bool>> seen_;  // what operators were seen to do, by their number
  std::set<std::string> known_;
  std::vector<RuleInstance> all_;
  std::optional<Refuted> counterexample_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PRECONDITIONS_RULE_INSTANCES_H_
