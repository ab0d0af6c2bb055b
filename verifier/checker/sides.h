// Evaluates both sides of a rule on one instance.
#ifndef LEMMA_VERIFIER_CHECKER_SIDES_H_
#define LEMMA_VERIFIER_CHECKER_SIDES_H_

#include <vector>

#include "rewrite/rules/substitution.h"
#include "verifier/checker/evaluator.h"
#include "verifier/checker/instances.h"

namespace lemma::checker {

// The inputs and outputs of both sides.
class Sides {
 public:
  // fill = 0: all elements of inputs are indeterminates (variables of polynomials, see algebra.h).
  // fill > 0: elements of integer inputs are small pseudo-random numbers, with `fill` as the seed;
  // elements of other inputs are indeterminates. Records problems in `algebra` (Algebra::problem).
  Sides(const Substitution& rule, const Instance& instance, Algebra* algebra, int fill);

  const TensorValue& input(int var) const { return inputs_[var]; }  // of a variable of the rule
  const TensorValue& source(size_t output) const { return outputs_[0][output]; }
  const TensorValue& target(size_t output) const { return outputs_[1][output]; }
  // `which`: 0 for the source, 1 for the target.
  const TensorValue& side(int which, size_t output) const { return outputs_[which][output]; }
  // Whether an indeterminate was used as an index. Then the caller has to make new Sides with
  // fill > 0.
  bool needs_positions() const { return needs_positions_; }
  // Whether the source reads outside a tensor because of the numbers in integer inputs. These
  // numbers then say nothing about the rule.
  bool invalid() const { return invalid_; }

 private:
  // False if a read was outside its tensor.
  bool Run(const Pattern& pattern, const std::vector<Definition>& nodes, Algebra* algebra,
           std::vector<TensorValue>* outputs);

  std::vector<TensorValue> inputs_;
  std::vector<TensorValue> outputs_[2];
  bool needs_positions_ = false, invalid_ = false;
};

// Whether an element of an integer input is used as an index. Adds the work done to *work.
bool NeedsPositions(const Substitution& rule, const Instance& instance, int64_t* work);

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_SIDES_H_
