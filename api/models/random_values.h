// Repeatable random values for inputs and weights.
#ifndef LEMMA_API_MODELS_RANDOM_VALUES_H_
#define LEMMA_API_MODELS_RANDOM_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// The same numbers on every machine: SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  double Uniform(double low, double high);
  double Normal();  // mean 0, variance 1

 private:
  uint64_t state_;
};

// A seed in [0, 2^62) that nobody could know before: from the system.
uint64_t DrawSeed();

// Floats are standard normal, integers uniform in [0, integer_range), truth values fair.
absl::StatusOr<Tensor> RandomInput(const TensorType& type, uint64_t seed, int64_t integer_range);

// One such tensor per input of `graph`.
absl::StatusOr<std::vector<Tensor>> RandomInputs(const Graph& graph, uint64_t seed,
                                                 int64_t integer_range);

// The same for a step of training: inputs X with an output X.next as ReseedWeights fills weights,
// and `lr`, the learning rate, 0.001.
absl::StatusOr<std::vector<Tensor>> RandomStepInputs(const Graph& graph, uint64_t seed,
                                                     int64_t integer_range);

// `graph` with every floating weight filled anew, by its name and `seed`: matrices and kernels so
// that values keep their size from layer to layer (He et al. 2015), variances and scales in
// [0.5, 1.5], other vectors small. What an operator calls its operand tells which is which.
absl::StatusOr<Graph> ReseedWeights(const Graph& graph, uint64_t seed);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_RANDOM_VALUES_H_
