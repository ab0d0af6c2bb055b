// Builds TASO rule files in memory.
#ifndef LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
#define LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "rewrite/taso/rules.pb.h"

namespace lemma::taso {

// Parameters: pairs of key and value. The keys are defined in rewrite/taso/format.h: 4 and 5 are
// the kernel's height and width, 6 and 7 the strides, 8 the padding, 9 the activation.
using Params = std::vector<std::pair<int, int>>;

// 3 x 3 kernels. kSame: stride 1, padding "same". kValid: strides 2 and 1, no padding, then relu.
inline const Params kSame = {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, 0}};
inline const Params kValid = {{4, 3}, {5, 3}, {6, 2}, {7, 1}, {8, 1}, {9, 2}};

// An operator of type `type` (rewrite/taso/format.h). `inputs` are its operands. An operand is a
// pair: the position of an operator and the number of an output, or the negative number of a
// variable and 0.
Operator Op(int type, const std::vector<std::pair<int, int>>& inputs, const Params& params = {});

// The bytes of a file with one rule. Each side's output is output 0 of its last operator; if
// `variable` is negative, the target's output is this variable instead.
std::string File(const std::vector<Operator>& source, const std::vector<Operator>& target,
                 int variable = 0);

}  // namespace lemma::taso

#endif  // LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
