// Rewrites a graph so that large short-lived values are computed block by block, and only one block
// is in memory at a time.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_H_

#include <cstdint>

#include "runtime/cpu/widening.h"

namespace lemma::cpu {

struct BlockOptions {
  int64_t large_bytes = int64_t{8} << 20;  // values of fewer bytes are left alone
  int64_t block_bytes = int64_t{4} << 20;  // limit on a block of the region's largest value
  int max_blocks = 2048;                   // of one region
  bool only_cascades = true;               // false: also regions that gain nothing, for tests
};

// A graph that computes the same function of the same inputs. A region consists of a large value
// and the operators around it that treat each index of some dimensions alone: the scores of
// attention, their softmax, and its product with the values. It is computed for one block of these
// dimensions after another, and the blocks of its results are concatenated. This is done only if
//
// - no value of the region that takes at least a quarter of the largest one's memory is read
//   outside it;
// - some value is read both by a reduction and together with the reduction's result, as in a
//   softmax: other regions gain nothing;
// - a block is small enough, and operands that stay whole are not read too often;
// - no weights of a product would be divided.
//
// The definition of each operator over a block is compared with the operator's own definition: both
// must be equal as texts.
WideGraph InBlocks(WideGraph wide, const BlockOptions& options = {});

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_H_
