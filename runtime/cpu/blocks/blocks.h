// Rewrites a graph so that large short-lived values are computed block by block, and only one block
// is in memory at a time.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCKS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCKS_H_

#include <cstdint>

#include "runtime/cpu/widening.h"

namespace lemma::cpu {

struct BlockOptions {
  int64_t large_bytes = int64_t{8} << 20;  // regions are sought around values of this size or more
  // Wanted bytes of a block of the largest value. Doubled while a region would have more than
  // max_blocks blocks, or while its blocks would read too many bytes in total.
  int64_t block_bytes = int64_t{4} << 20;
  int max_blocks = 2048;      // most blocks of one region
  bool only_cascades = true;  // false: also regions that gain nothing, for tests
};

// A graph that computes the same function of the same inputs as `wide` (WideGraph:
// runtime/cpu/widening.h). A region (block_regions.h) consists of a large value and the operators
// around it that treat each index of some dimensions independently, or sum over them: for example
// the scores of attention, their softmax, and the product of the softmax with the values. A reshape
// may merge such dimensions (moved_dims.h). A region is computed for one block of these dimensions
// after another. The blocks of its results are concatenated, or added if the results are sums.
// Conditions:
//
// - operators outside the region read only those of its values that are outputs of the graph, are
//   sums, or are smaller than large_bytes or than a quarter of the largest value (an element counts
//   as four bytes at least);
// - the region has a cascade (cascades.h): a reduction of a large value is read together with the
//   value, as in a softmax, or with another reduction of it (other regions gain nothing);
// - a block is small enough, and operands that stay whole are not read too often;
// - no block divides the weights of a product;
// - no node of the region depends on the region through a node outside. If a
//   node does, and waits for a sum over blocks, the dimension of the sum is not
//   divided. Otherwise the region is separated into two, and the second one
//   recomputes the values of the first that it needs (separated_regions.h): the
//   gradient of attention, for example, recomputes the scores.
//
// If a region has several results, barriers (graph/barrier.h) keep one block after the other.
//
// Each operator is checked: its definition over a block must equal, as text, its definition over
// whole values; for a part of a sum, up to the number of its terms. The positions that a reshape
// moves are compared instead. A divided sum of floats may be rounded differently; sums in 16-bit
// types are not divided. CheckBlocks (block_check.h) proves the result in another way.
//
// Takes about O(nodes of `wide` and of the result).
WideGraph InBlocks(WideGraph wide, const BlockOptions& options = {});

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCKS_H_
