// Prints definitions of blocks, to compare them with the definitions of whole values.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma::cpu {

// The body of `definition` as text, in the form that is compared with the body of a block. Where
// zero[d] is true, the output's index in dimension d is 0. If part_of_sum, the body is a sum:
// `extents` gives new extents of some of its variables, by their positions, and variables with one
// index are left out.
std::string BodyAt(const Definition& definition, const std::vector<bool>& zero, bool part_of_sum,
                   const std::vector<std::pair<int, int64_t>>& extents);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
