// Draws the inputs on which the campaign's judge (judge.h) evaluates both sides of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_

#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// How the elements of float tensors are drawn. Integer tensors are drawn alike for all kinds, with
// two exceptions: in kZero they are 0, and in kSpecial and kDyadicSpecial some elements are the
// least or the largest of their type (2^63-1 for u64). Bool tensors are random for all kinds.
enum class Inputs {
  kPositive,       // [0.25, 1.75)
  kSigned,         // [-2, 2)
  kWhole,          // small integers
  kZero,           // zeros
  kSparse,         // small integers, most of them 0
  kOneSign,        // integers, of one sign in each tensor
  kMonotonic,      // integers that rise or fall through each tensor
  kConstants,      // c, c - 1, c + 1, 2c, -c or c/2 for a constant c in the rule; small integers
  kDyadic,         // multiples of 1/64, whose sums and products are exact in double
  kSpecial,        // some are infinite, NaN, -0, denormal or nearly the largest f32
  kDyadicSpecial,  // as kDyadic, but some are infinite, NaN or -0
};

// One tensor per input of the graph. Float tensors have the input's element type or, if `wide` is
// true, f64. In half of the integer tensors all elements are 0 or 1, so that they can be used as
// indices. `constants` are the constants in the rule (ConstantsOf in instances.h).
std::vector<Tensor> DrawInputs(const Graph& graph, Inputs kind, bool wide,
                               const std::vector<double>& constants, std::mt19937_64* random);

// The inputs with each float changed by at most 5e-10 (an absolute difference).
std::vector<Tensor> Moved(const std::vector<Tensor>& inputs, std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
