// Draws mutants of rules for the campaign: rules with small changes. Most of them are nearly true,
// and some are true.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATOR_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATOR_H_

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

struct RuleMutant {
  Substitution rule;  // its float contract is real_only, the loosest
  std::string text;   // the text of the rule, from which `rule` was parsed
  std::string what;   // for people: the original rule and the changes
};

class Mutator {
 public:
  // `families` are lists of true rules. Each try to make a mutant first chooses one of the lists,
  // all equally likely. Equal seeds give equal sequences of mutants.
  Mutator(std::vector<std::vector<Substitution>> families, uint64_t seed);

  // A mutant that was not drawn before. One to four changes make it from a rule, from the reverse
  // of a rule, or from the rule A => A for a side A of a rule. Some changes keep the rule true.
  // Both sides of the mutant are well-formed for some sizes, and their outputs have the same
  // element types and ranks. The definitions of the two sides differ as text.
  RuleMutant Draw();
  // The number of mutants tried so far, including those that Draw rejected.
  int64_t tries() const { return tries_; }

 private:
  std::optional<RuleMutant> TryOnce();

  std::vector<std::vector<Substitution>> families_;
  std::mt19937_64 random_;
  std::set<std::string> drawn_;
  int64_t tries_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATOR_H_
