// Draws mutants of rules: claims that are nearly true, and some that are true.
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
  Substitution rule;  // real_only: it promises as little as possible
  std::string text;   // the rule as text, which reads back as the rule
  std::string what;   // for people: the original rule and the changes
};

class Mutator {
 public:
  // `families`: true rules; each family is drawn equally often. Equal seeds give equal sequences.
  Mutator(std::vector<std::vector<Substitution>> families, uint64_t seed);

  // A mutant that was not drawn before: a rule, its reverse, or one side twice, with one to four
  // changes, some of which keep it true. Both sides are well-formed for some sizes, have outputs of
  // the same types, and are not written alike.
  RuleMutant Draw();
  int64_t tries() const { return tries_; }  // including those that gave no new rule

 private:
  std::optional<RuleMutant> TryOnce();

  std::vector<std::vector<Substitution>> families_;
  std::mt19937_64 random_;
  std::set<std::string> drawn_;
  int64_t tries_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATOR_H_
