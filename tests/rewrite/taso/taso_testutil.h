// Builds in memory files of rules in the format of TASO, another optimizer (rewrite/taso/format.h).
#ifndef LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
#define LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "rewrite/taso/rules.pb.h"

namespace lemma::taso {

// The parameters of an operator: pairs of key and value. The keys are defined in
// rewrite/taso/format.h: 4 and 5 are the height and the width of a convolution's kernel, 6 and 7
// the strides, 8 the padding, 9 the activation.
using Params = std::vector<std::pair<int, int>>;

// 3 x 3 kernels. kSame: stride 1, padding "same". kValid: strides 2 and 1, no padding, then relu.
inline const Params kSame = {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, 0}};
inline const Params kValid = {{4, 3}, {5, 3}, {6, 2}, {7, 1}, {8, 1}, {9, 2}};

// An operator of type `type` (rewrite/taso/format.h). Each of its operands is a pair in `inputs`.
// The pair {2, 0} is output 0 of operator 2 on the same side of the rule; the pair {-1, 0} is the
// variable with the number -1.
Operator Op(int type, const std::vector<std::pair<int, int>>& inputs, const Params& params = {});

// The bytes of a file with one rule from `source` to `target`. Each side's output is output 0 of
// its last operator; but if `variable` is negative, the target's output is the variable of this
// number.
std::string File(const std::vector<Operator>& source, const std::vector<Operator>& target,
                 int variable = 0);

}  // namespace lemma::taso

#endif  // LEMMA_TESTS_REWRITE_TASO_TASO_TESTUTIL_H_
