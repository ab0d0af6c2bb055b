// Computes large values that live briefly in blocks, so that only a block of them is in memory.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_H_

#include <cstdint>

#include "runtime/cpu/widening.h"

namespace lemma::cpu {

struct BlockOptions {
  int64_t large_bytes = int64_t{8} << 20;  // values of fewer bytes are left alone
  int64_t block_bytes = int64_t{4} << 20;  // what a block of the largest value may take
  int max_blocks = 2048;                   // of one region
  bool only_cascades = true;               // false: also regions that gain nothing, for tests
};

// The same function of the same inputs. The graph's largest values, and what is computed from them
// element by element in some dimensions (scores of attention, their softmax, and its product with
// the values), are computed for one block of these dimensions after the other, and the blocks of
// what is left are concatenated. A region is computed so only if
//
// - no value of it that takes a quarter of the largest one's memory, or more, is read outside it;
// - some value of it is reduced and then read again beside what it was reduced from, as in a
//   softmax: other chains gain nothing;
// - a block is small enough, and what stays whole is not read too often;
// - no weights of a product would be divided.
//
// The definition of each operator over a block is compared with the operator's own definition: both
// must be equal as texts.
WideGraph InBlocks(WideGraph wide, const BlockOptions& options = {});

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_H_
