// Checks that a graph in blocks computes the values of the graph before.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_CHECK_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::cpu {

// The numbers of facts that CheckBlocks proved.
struct BlockEvidence {
  int64_t applications = 0;  // of operators to blocks, each by the operator's definition
  int64_t values = 0;        // of the graph before, put together from blocks
};

// Proves that `divided` has the inputs of `whole` and that each of its outputs
// equals the same output of `whole`: exactly or, where a sum is divided, in
// real numbers. Does not know how InBlocks (blocks.h) made `divided`. Goes
// through the operators of `divided`. For each result, derives the value of
// `whole` of which it is a block and, in a divided sum, the part of the sum
// that it is. The derivation uses these facts:
//
// - an operator that is also in `whole` gives its value there, and a barrier
//   gives its operand;
// - a constant whose elements are all one float is a block of each constant with the same number;
// - a slice of a block is a block; adjacent blocks that are concatenated are one block;
// - adjacent parts of a sum that are added are one part;
// - an operator applied to blocks of the operands of the same operator of `whole` gives a block of
//   its result, if the definitions are equal as texts, apart from sizes, and read each operand only
//   at the indices of its block. If the operator only moves elements, as a reshape does, their
//   positions are compared instead (MovesBlock in moved_dims.h).
//
// Internal if the inputs or the number of outputs differ, or if an output is
// not proved. In the last case, the message also names the first result for
// which nothing could be derived.
absl::StatusOr<BlockEvidence> CheckBlocks(const Graph& whole, const Graph& divided);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_CHECK_H_
