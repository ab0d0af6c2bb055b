// Mutants of rules: claims that are nearly true, some of them true.
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
  Substitution rule;  // real_only: it promises as little as it can
  std::string text;   // of the rule, which reads back as it
  std::string what;   // the rule it is made of and what was changed, for people
};

class Mutator {
 public:
  // `families`: rules that are true, each family drawn as often as any other. Equal seeds give
  // equal sequences.
  Mutator(std::vector<std::vector<Substitution>> families, uint64_t seed);

  // A mutant that was not drawn before: a rule, in either direction or both of its sides alike, of
  // which one to four things are changed; among them such as keep it true. Both sides are
  // well-formed for some sizes, with outputs of the same types, and not written alike.
  RuleMutant Draw();
  int64_t tries() const { return tries_; }  // that gave no new rule included

 private:
  std::optional<RuleMutant> TryOnce();

  std::vector<std::vector<Substitution>> families_;
  std::mt19937_64 random_;
  std::set<std::string> drawn_;
  int64_t tries_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATOR_H_
