// Finds the positions where two graphs differ, by expanding every output element into a polynomial.
// Tests compare pet/regions/region.h with it; the two share only the operators' definitions. For
// small shapes.
#ifndef LEMMA_TESTS_PET_POLYNOMIAL_ORACLE_H_
#define LEMMA_TESTS_PET_POLYNOMIAL_ORACLE_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lemma::pet {

// Each graph must have one output, and the outputs must have the same shape. Returns the row-major
// positions, ascending, where the outputs differ as polynomials in the elements of inputs and
// weights.
std::vector<int64_t> DifferingPositions(const Graph& a, const Graph& b);

}  // namespace lemma::pet

#endif  // LEMMA_TESTS_PET_POLYNOMIAL_ORACLE_H_
