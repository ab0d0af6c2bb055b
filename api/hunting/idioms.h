// Makes random models of idioms, which are patterns of operators that engines recognize and fuse.
// Also makes similar models that engines must not fuse.
#ifndef LEMMA_API_HUNTING_IDIOMS_H_
#define LEMMA_API_HUNTING_IDIOMS_H_

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace lemma::hunt {

// A model of a few operators in one of these patterns: a GELU, a normalization or an attention,
// each written as elementary operators; a convolution with bias and activation; transposes around
// other operators; operations with neutral elements; and the like. Many seeds give the pattern
// itself. Other seeds change a number, an axis, a shape or the order of operands, so that an engine
// that fuses the model like the pattern is wrong. nullopt if this seed gives no well-formed model.
// Equal seeds give equal models.
std::optional<Graph> RandomIdiom(uint64_t seed);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_IDIOMS_H_
