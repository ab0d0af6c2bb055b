// Graphs run in the field of 2^61 - 1 elements on random inputs. Internal to pet: what tests
// regions and shares nothing with how they are found but the definitions.
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

// Scalar operations of one run of the graph.
absl::StatusOr<double> OperationsOf(const Graph& graph);

// The elements of the graph's only output, in row-major order. Inputs, weights and constants of
// several values are random, and the same in every graph for one seed.
absl::StatusOr<std::vector<Field>> FieldValues(const Graph& graph, uint64_t seed);

// The same values, a box at a time, from the graph's composed definition: what lies outside is not
// computed.
class FieldSampler {
 public:
  static absl::StatusOr<FieldSampler> Create(const Graph& graph, uint64_t seed);
  // ResourceExhausted where the composed definition is too large to be run.
  absl::StatusOr<std::vector<Field>> Values(const Box& box) const;

 private:
  Definition definition_;  // one tensor over the leaves
  std::vector<std::vector<Field>> leaves_;
  std::vector<Shape> shapes_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_FIELD_VALUES_H_
