// Draws inputs on which the campaign's judge evaluates both sides of a claim.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_

#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Values of float tensors. Integer tensors are drawn alike for all kinds, but for kZero, kSpecial
// and kDyadicSpecial.
enum class Inputs {
  kPositive,       // [0.25, 1.75)
  kSigned,         // [-2, 2)
  kWhole,          // small integers
  kZero,           // zeros
  kSparse,         // most are 0
  kOneSign,        // integers, of one sign in each tensor
  kMonotonic,      // rise or fall through a tensor
  kConstants,      // equal to and near the claim's constants
  kDyadic,         // multiples of 1/64, whose sums and products are exact in double
  kSpecial,        // some infinite, NaN, -0, denormal or the largest; integers at their limits
  kDyadicSpecial,  // multiples of 1/64, some infinite, NaN or -0: sums do not depend on their order
};

// One tensor per input of the graph. Float tensors have the input's type or, if `wide`, f64. In
// half of the integer tensors all elements are 0 or 1, so that they can be positions. `constants`:
// those of the claim.
std::vector<Tensor> DrawInputs(const Graph& graph, Inputs kind, bool wide,
                               const std::vector<double>& constants, std::mt19937_64* random);

// The inputs, with each float changed by up to 5e-10.
std::vector<Tensor> Moved(const std::vector<Tensor>& inputs, std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
