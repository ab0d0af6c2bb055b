// Evaluates graphs on random inputs in the field of 2^61 - 1 elements. The randomized check of
// regions uses these values. This code shares only the operators' definitions with the code that
// finds regions.
#ifndef LEMMA_PET_REGIONS_FIELD_VALUES_H_
#define LEMMA_PET_REGIONS_FIELD_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// The number of scalar operations in one run of the graph. Each four bytes that an operator writes
// count as one more operation.
absl::StatusOr<double> OperationsOf(const Graph& graph);

// The elements of the graph's only output, in row-major order. Inputs and weights are random; so
// are constants whose elements are not all equal. With the same seed, equal leaves have the same
// values in every graph.
absl::StatusOr<std::vector<Field>> FieldValues(const Graph& graph, uint64_t seed);

// The same values, one box at a time, from the graph's composed definition; elements outside the
// box are not computed.
class FieldSampler {
 public:
  static absl::StatusOr<FieldSampler> Create(const Graph& graph, uint64_t seed);
  // ResourceExhausted if the composed definition is too large to run.
  absl::StatusOr<std::vector<Field>> Values(const Box& box) const;

 private:
  Definition definition_;  // one tensor over the graph's inputs, weights and constants
  std::vector<std::vector<Field>> leaves_;
  std::vector<Shape> shapes_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_FIELD_VALUES_H_
