// Draws random subprograms: graphs of one or a few operators that are sums of products, from which
// PET makes mutants.
#ifndef LEMMA_TESTS_PET_RANDOM_SUBPROGRAM_H_
#define LEMMA_TESTS_PET_RANDOM_SUBPROGRAM_H_

#include <cstdint>

#include "graph/graph.h"

namespace lemma::pet {

// One of these: a small convolution (unequal sizes, asymmetric padding,
// strides, dilations, groups, bias); a chain of two convolutions; two
// convolutions whose results are concatenated or added; a data or weight
// gradient of a convolution; a mean over windows; or a matrix product. Equal
// seeds give equal graphs.
Graph RandomSubprogram(uint64_t seed);

}  // namespace lemma::pet

#endif  // LEMMA_TESTS_PET_RANDOM_SUBPROGRAM_H_
