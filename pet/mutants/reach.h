// Computes the reach of an output element in a leaf: for each dimension of the leaf, the distance
// from the first to the last position that the output element reads.
#ifndef LEMMA_PET_MUTANTS_REACH_H_
#define LEMMA_PET_MUTANTS_REACH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// By dimension of `leaf`: the distance from the first to the last position that the middle element
// of `output` reads; 0 if it reads one position. Empty if this element does not read `leaf`, or if
// `leaf` has no dimensions. `output` must have elements. Unimplemented, naming the operator, if the
// element is not a polynomial; ResourceExhausted as in PolynomialReader::Read.
absl::StatusOr<std::vector<int64_t>> ReachOf(const Value& output, const Value& leaf);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REACH_H_
