// Computes the reach of an output element in a leaf (docs/glossary.md).
#ifndef LEMMA_PET_MUTANTS_REACH_H_
#define LEMMA_PET_MUTANTS_REACH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// The reach of the middle element of `output`, by dimension of `leaf`: the distance from the first
// to the last position that the element reads; 0 if it reads one position. Empty if it does not
// read `leaf`, or if `leaf` has no dimensions. `output` must have elements. Unimplemented, naming
// the operator, if the element is not a polynomial; ResourceExhausted as in PolynomialReader::Read.
absl::StatusOr<std::vector<int64_t>> ReachOf(const Value& output, const Value& leaf);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REACH_H_
