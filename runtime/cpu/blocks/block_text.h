// Prints definitions of blocks, to compare them with the definitions of whole values.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma::cpu {

// The body of the first tensor of `definition` as text, in the form in which the bodies of a whole
// value and of a block are compared. Where zero[d] is true, the output's index in dimension d is
// replaced by 0. If part_of_sum, the body must be a sum. `extents` then gives new extents of some
// variables of the sum, each with the variable's position, and variables of extent 1 are left out.
std::string BodyAt(const Definition& definition, const std::vector<bool>& zero, bool part_of_sum,
                   const std::vector<std::pair<int, int64_t>>& extents);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_BLOCK_TEXT_H_
