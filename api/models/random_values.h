// Makes repeatable random values for inputs and weights.
#ifndef LEMMA_API_MODELS_RANDOM_VALUES_H_
#define LEMMA_API_MODELS_RANDOM_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// A random number generator, SplitMix64. Next and Uniform give the same numbers on every machine.
// Normal may differ in the last bits, because it uses the C library's log and cos.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();                          // uniform over all numbers of 64 bits
  double Uniform(double low, double high);  // in [low, high)
  double Normal();                          // mean 0, variance 1

 private:
  uint64_t state_;
};

// An unpredictable seed in [0, 2^62), drawn from the system.
uint64_t DrawSeed();

// A tensor of random elements. Floats are standard normal; for f8e8m0, which
// has no negative numbers, they are the absolute values of such numbers.
// Integers are uniform in [0, integer_range), and then saturated to the type.
// Truth values are true or false with equal probability.
absl::StatusOr<Tensor> RandomInput(const TensorType& type, uint64_t seed, int64_t integer_range);

// A tensor of RandomInput for each input of `graph`, in their order. If the graph compares an
// integer input with constants c1, c2, …, some elements are these constants, so that different
// branches are taken. (A constant tensor of more than 16 elements does not count.) An input of one
// element gets, with successive seeds, c1, c2, …, a random value, c1 + 1, c2 + 1, …. Each element
// of a larger input is one of the constants with probability 1/2.
absl::StatusOr<std::vector<Tensor>> RandomInputs(const Graph& graph, uint64_t seed,
                                                 int64_t integer_range);

// The same for a training step. The inputs of state variables (StatePairs in
// graph/training_state.h) of float types get values like weights in ReseedWeights; the learning
// rate, the input `lr`, is 0.001.
absl::StatusOr<std::vector<Tensor>> RandomStepInputs(const Graph& graph, uint64_t seed,
                                                     int64_t integer_range);

// Gives every floating-point weight of `graph` random values, which depend on its name, its type
// and `seed`. Matrices and convolution kernels are scaled so that values keep their magnitude from
// layer to layer (He et al. 2015); variances and scales are in [0.5, 1.5); other vectors are normal
// with standard deviation 0.1. The kind of a weight follows from its rank, and from the operand's
// name (such as "scale") in the first operator that reads the weight.
absl::StatusOr<Graph> ReseedWeights(const Graph& graph, uint64_t seed);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_RANDOM_VALUES_H_
