// Computes how far the elements of a leaf extend that an output element reads: its reach.
#ifndef LEMMA_PET_MUTANTS_REACH_H_
#define LEMMA_PET_MUTANTS_REACH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// By dimension of `leaf`: the distance from the first to the last position that the middle element
// of `output` reads. Empty if this element does not read `leaf`. Unimplemented, naming the
// operator, if `output` is not a polynomial.
absl::StatusOr<std::vector<int64_t>> ReachOf(const Value& output, const Value& leaf);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_REACH_H_
