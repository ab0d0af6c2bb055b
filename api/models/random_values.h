// Makes repeatable random values for inputs and weights.
#ifndef LEMMA_API_MODELS_RANDOM_VALUES_H_
#define LEMMA_API_MODELS_RANDOM_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// A random number generator, SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  double Uniform(double low, double high);
  double Normal();  // mean 0, variance 1

 private:
  uint64_t state_;
};

// An unpredictable seed in [0, 2^62), drawn from the system.
uint64_t DrawSeed();

// Floats are standard normal, integers uniform in [0, integer_range), truth values true or false
// with equal probability.
absl::StatusOr<Tensor> RandomInput(const TensorType& type, uint64_t seed, int64_t integer_range);

// One such tensor per input of `graph`. If the graph compares an integer input with constants, the
// input has these values now and then, so that branches are taken. A scalar is, with successive
// seeds, each constant, then a random value, then each constant plus 1; an element of a larger
// tensor is one of the constants with probability 1/2.
absl::StatusOr<std::vector<Tensor>> RandomInputs(const Graph& graph, uint64_t seed,
                                                 int64_t integer_range);

// The same for a training step. State inputs (X with an output X.next) get values as weights do in
// ReseedWeights; the learning rate `lr` is 0.001.
absl::StatusOr<std::vector<Tensor>> RandomStepInputs(const Graph& graph, uint64_t seed,
                                                     int64_t integer_range);

// Replaces every floating-point weight of `graph` by random values, chosen by its name and `seed`.
// Matrices and convolution kernels are scaled so that values keep their magnitude from layer to
// layer (He et al. 2015); variances and scales are in [0.5, 1.5]; other vectors are small. The rank
// of a weight, and its operand's name in the operator's definition, decide which of these it is.
absl::StatusOr<Graph> ReseedWeights(const Graph& graph, uint64_t seed);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_RANDOM_VALUES_H_
