// Builds TASO rule files in memory.
#ifndef LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
#define LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "rewrite/taso/rules.pb.h"

namespace lemma::taso {

using Params = std::vector<std::pair<int, int>>;

// 3 x 3 kernels. kSame: stride 1, padding "same". kValid: strides 2 and 1, no padding, then relu.
inline const Params kSame = {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, 0}};
inline const Params kValid = {{4, 3}, {5, 3}, {6, 2}, {7, 1}, {8, 1}, {9, 2}};

// An operator: its type, its operands as pairs of operator (or variable) and output, its parameters
// as pairs of key and value.
Operator Op(int type, const std::vector<std::pair<int, int>>& inputs, const Params& params = {});

// One rule, serialized. The rule's output is output 0 of each side's last operator. A negative
// `variable` takes the place of the target's.
std::string File(const std::vector<Operator>& source, const std::vector<Operator>& target,
                 int variable = 0);

}  // namespace lemma::taso

#endif  // LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
