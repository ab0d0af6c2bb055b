// Finds out whether a region of blocks (block_regions.h) has a cascade of reductions.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_CASCADES_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_CASCADES_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "runtime/cpu/blocks/carried_dims.h"
#include "runtime/plan/use_table.h"

namespace lemma::cpu {

// The bytes of a value, counted as if its elements took four bytes at least: a mask of truth values
// is as large as the numbers that it masks.
int64_t CountedBytes(const TensorType& type);

// ReductionsOf, cached (kept.h).
const Reductions& ReductionsIn(const Node& node);

// Whether some large value is reduced, and an operator reads the result of the reduction together
// with an operand of more elements that depends on the value too: the value itself, or another
// reduction of it. Between the reduction and this operator there is no further reduction. Also true
// if one operator of the region does both, as a softmax does (Reductions::beside). `nodes` are the
// region's nodes, ascending. Values of `large` counted bytes or more are large.
//
// Example: e = exp(s), u = sum of each row of e, y = (e times v) / u. The division reads u and the
// product e times v, which has more elements. Both u and the product are reductions of e.
bool HasCascade(const UseTable& uses, const std::vector<int>& nodes, int64_t large);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_CASCADES_H_
