// Rewriting of nests, as expressions, before they are lowered. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_
#define LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_

#include <vector>

#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

// Cuts the box of `source` where a guard on a single output index changes its value, so that each
// piece of a concatenation or a padding is a plain nest. Returns {source}, simplified, if there
// is nothing to cut or if there would be too many pieces.
std::vector<NestSource> SplitAtGuards(const NestSource& source, int* fresh);

// Replaces an axis that is divided by constants, each a multiple of the next, by one axis for each
// digit: a convolution's groups, a merged dimension. An axis of which a guard admits every m-th
// value is split into m phases, within each of which the guard is constant.
NestSource SplitMixedAxes(const NestSource& source, int* fresh);

// Takes reductions out of the body that are better computed on their own, into new tensors:
// contractions, and those that would be computed again and again because they do not depend on
// all loops around them. Appends the nests that compute them to `before` and their slots to
// `slots`. Reductions under a guard stay.
NestSource ExtractReductions(const NestSource& source, std::vector<Slot>* slots,
                             std::vector<NestSource>* before);

// The last axes as one, where they are short: {} if they are long enough or there is only one.
std::vector<NestSource> CollapseShortAxes(const NestSource& source, int* fresh);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_
