// Inputs for both sides of a claim.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_

#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

enum class Inputs {
  kPositive,       // [0.25, 1.75)
  kSigned,         // [-2, 2)
  kWhole,          // small integers
  kZero,           // zeros
  kSparse,         // most are 0
  kOneSign,        // integers, those of a tensor of one sign
  kMonotonic,      // they rise or fall through a tensor
  kConstants,      // on and next to the claim's constants
  kDyadic,         // 64ths, of which sums and products are exact in double
  kSpecial,        // some infinite, NaN, -0, denormal or the largest; integers at their limits
  kDyadicSpecial,  // 64ths, some infinite, NaN or -0: sums do not depend on their order
};

// Of the graph's inputs, floats of their types or, `wide`, of f64. Integers are small enough for
// positions in half of the cases.
std::vector<Tensor> DrawInputs(const Graph& graph, Inputs kind, bool wide,
                               const std::vector<double>& constants, std::mt19937_64* random);

// The inputs with each float moved by up to 1e-9.
std::vector<Tensor> Moved(const std::vector<Tensor>& inputs, std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_INPUTS_H_
