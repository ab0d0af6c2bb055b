// Random models of the patterns that engines recognize and fuse, and of near misses.
#ifndef LEMMA_API_HUNTING_IDIOMS_H_
#define LEMMA_API_HUNTING_IDIOMS_H_

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace lemma::hunt {

// A few operators: a GELU, a normalization or an attention written out, a convolution with what
// follows it, transposes around other operators, operations with neutral elements, and the like.
// Numbers, axes, shapes and orders of operands are right in most draws and changed in the others.
// nullopt if this seed gives no well-formed model. Equal seeds give equal models.
std::optional<Graph> RandomIdiom(uint64_t seed);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_IDIOMS_H_
