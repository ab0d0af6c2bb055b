// Prints definitions of blocks, to compare them with the definitions of whole values.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma::cpu {

// The text of a definition of which a block is computed: the output's index in each dimension of
// `zero` is 0. If the block is a part of a sum, the sum has other extents of some variables, given
// by their positions, and variables with one index are left out.
std::string BodyAt(const Definition& definition, const std::vector<bool>& zero, bool part_of_sum,
                   const std::vector<std::pair<int, int64_t>>& extents);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
