// Draws inputs on which the campaign's judge evaluates both sides of a claim.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_

#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// How the elements of float tensors are drawn. Integer tensors are drawn in the same way for all
// kinds except kZero, kSpecial and kDyadicSpecial.
enum class Inputs {
  kPositive,       // [0.25, 1.75)
  kSigned,         // [-2, 2)
  kWhole,          // small integers
  kZero,           // zeros
  kSparse,         // small integers, most of them 0
  kOneSign,        // integers, of one sign in each tensor
  kMonotonic,      // integers that rise or fall through each tensor
  kConstants,      // equal to or near the claim's constants
  kDyadic,         // multiples of 1/64, whose sums and products are exact in double
  kSpecial,        // some infinite, NaN, -0, denormal or the largest; integers at their limits
  kDyadicSpecial,  // as kDyadic, some infinite, NaN or -0; integers at their limits
};

// One tensor per input of the graph. Float tensors have the input's element type or, if `wide` is
// true, f64. In half of the integer tensors all elements are 0 or 1, so that they can be positions.
// `constants` are the constants of the claim (ConstantsOf in instances.h).
std::vector<Tensor> DrawInputs(const Graph& graph, Inputs kind, bool wide,
                               const std::vector<double>& constants, std::mt19937_64* random);

// The inputs with each float changed by at most 5e-10, absolutely.
std::vector<Tensor> Moved(const std::vector<Tensor>& inputs, std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
