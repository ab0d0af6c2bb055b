// Draws instances of a rule, that is, values of its symbols: small sizes, primes, and sizes near
// the constants in the rule.
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

// The numbers in the rule's dimensions, attributes, constants and conditions.
std::vector<double> ConstantsOf(const Substitution& rule);

class Instances {
 public:
  // `rule` must outlive the object.
  Instances(const Substitution& rule, uint64_t seed);

  // Values of the rule's symbols that were not drawn before. With them, the source is well-formed,
  // the rule's precondition is true and no input is empty. nullopt if none were found. About two of
  // three results are earlier results with some values changed.
  std::optional<Assignment> Draw();

 private:
  std::optional<Assignment> Varied(const Assignment& from);
  int64_t AnySize();
  // Whether each input has from one to some thousand elements, the condition is true, and the
  // source is well-formed.
  bool Fits(const Assignment& assignment) const;

  const Substitution& rule_;
  const Substitution unconditional_;  // the rule without its condition, which may exclude small
                                      // sizes
  InstanceSampler sampler_, any_sampler_;
  std::mt19937_64 random_;
  std::vector<int64_t> near_;  // sizes near the rule's constants
  std::vector<Assignment> drawn_, seeds_;
  std::set<std::string> known_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_INSTANCES_H_
