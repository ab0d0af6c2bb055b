// Tests a rule on random instances.
//
// An instance gives every symbol a small value such that the source is well-formed and the
// precondition holds. Both sides are then evaluated on random inputs. In the field of
// graph/expr/field.h, equality of rational functions is decided up to an error probability of
// degree / 2^61. Both sides are also evaluated in double, with results rounded to f32 after each
// operator. There the sides of a bit-exact rule must have equal bits (or both be NaN); for any
// other rule, elements that are finite on both sides may differ only a little. A rule that passes
// is not proved: other sizes and ranks are untested. A true rule fails if its equality needs a law
// of a function that the field does not have (graph/expr/field.h).
#ifndef LEMMA_REWRITE_DERIVATION_RANDOMIZED_CHECK_H_
#define LEMMA_REWRITE_DERIVATION_RANDOMIZED_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Draws random values for the symbols of a rule (instance_sampler.cc). The rule must outlive the
// object. Equal seeds give equal sequences.
class InstanceSampler {
 public:
  InstanceSampler(const Substitution& rule, uint64_t seed) : rule_(rule), state_(seed) {}

  // An assignment for which the source is well-formed and the precondition holds; nullopt if
  // `attempts` tries found none.
  std::optional<Assignment> Draw(int attempts = 2000);

 private:
  std::optional<Assignment> TryOnce();
  bool ChooseInTerm(const Term& term, const AttrSpec* spec, const Shape* operand);
  ExprAttr Propose(int symbol, const AttrSpec* spec, const Shape* operand);
  std::vector<int64_t> ProposeList(const AttrSpec* spec, const Shape* operand);
  bool BuildNode(const PatternNode& node, std::vector<std::vector<Value>>* built,
                 const std::vector<Value>& vars);
  void SolveEqualities();
  int64_t Below(int64_t n);

  const Substitution& rule_;
  uint64_t state_;
  int64_t rank_ = 2;
  SymbolValues values_;
};

struct RandomizedCheckOptions {
  int instances = 100;
  uint64_t seed = 1;
};

struct RandomizedCheckResult {
  int instances = 0;  // instances with elements to compare on which both sides agree
  int empty = 0;      // instances without elements
  // Instances with a well-formed source whose target is not well-formed or has other types: the
  // rule is not applied there.
  int not_applicable = 0;
  // An instance on which the sides differ: symbols, types of inputs, output, element, both values.
  std::optional<std::string> counterexample;
};

// Evaluates both sides of the rule on random instances, up to the first counterexample. Checks
// fewer instances than requested if no more are found. A status other than OK is an error of an
// operator, not of the rule.
absl::StatusOr<RandomizedCheckResult> RandomizedCheck(const Substitution& rule,
                                                      const RandomizedCheckOptions& options = {});

// The values of the rule's symbols as text: "n = 3, s = [1, 2]".
std::string Describe(const Substitution& rule, const Assignment& assignment);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_RANDOMIZED_CHECK_H_
