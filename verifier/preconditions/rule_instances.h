// Draws small instances of a rule and records whether its sides agree. Internal to the verifier.
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
  SymbolValues values;  // of the rule's symbols; absent: a real
  bool agree = false;
  // Flags of the target's operators, in order: for each reduction, whether it has several terms
  // here; for each operator, whether its result is not a copy of an operand. (An operator of the
  // source may do nothing: a rule that then leaves it out is useful.)
  std::vector<bool> does;
};

// The instances drawn so far. `rule` and `options` must outlive it.
class RuleInstances {
 public:
  RuleInstances(const Substitution& rule, const ProverOptions& options);

  // Draws up to `count` further instances for which `where` holds too. Skips instances that exist
  // already.
  void Draw(const std::vector<Comparison>& where, int count);

  const std::vector<RuleInstance>& all() const { return all_; }
  // For the first instance on which the sides differed.
  const std::optional<Refuted>& counterexample() const { return counterexample_; }
  // Whether the target's operators do, in these instances together, everything that they did in any
  // instance. Instances with different numbers of flags in `does` are judged apart; it suffices for
  // one number.
  bool ShowEverything(const std::vector<int>& instances) const;

 private:
  void DrawFrom(const RuleForm& form, int count);
  int NumberOf(const RuleForm& form);

  const Substitution& rule_;
  const ProverOptions& options_;
  uint64_t draws_ = 0;
  std::map<std::string, int> forms_;
  std::map<size_t, std::vector<bool>> seen_;  // by size of `does`: the flags seen so far
  std::set<std::string> known_;
  std::vector<RuleInstance> all_;
  std::optional<Refuted> counterexample_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PRECONDITIONS_RULE_INSTANCES_H_
