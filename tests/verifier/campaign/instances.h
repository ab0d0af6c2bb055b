// Instances of a claim at many sizes: small ones, primes, and those next to the claim's constants.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_INSTANCES_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_INSTANCES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Numbers in the rule's dimensions, attributes, constants and conditions.
std::vector<double> ConstantsOf(const Substitution& rule);

class Instances {
 public:
  Instances(const Substitution& rule, uint64_t seed);

  // Values for which the source is well-formed, the condition holds and no input is empty, none
  // drawn before; nullopt if none was found. Every second one is drawn from one before by changing
  // some of its sizes.
  std::optional<Assignment> Draw();

 private:
  std::optional<Assignment> Varied(const Assignment& from);
  int64_t AnySize();
  // At most some thousand elements each, and one for each dimension at least.
  bool Fits(const Assignment& assignment) const;

  const Substitution& rule_;
  const Substitution unconditional_;  // the rule without its condition, which small sizes may fail
  InstanceSampler sampler_, any_sampler_;
  std::mt19937_64 random_;
  std::vector<int64_t> near_;  // the rule's constants
  std::vector<Assignment> drawn_, seeds_;
  std::set<std::string> known_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_INSTANCES_H_
